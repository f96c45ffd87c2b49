import { Redis } from 'ioredis';
import { subjectOf } from '../src/identity/client.js';
import { CounterKeys, fieldsOf } from '../src/identity/counter-keys.js';
import { LimiterService } from '../src/limiter.service.js';
import { ServiceCharges, type NamedPolicy, type PolicyRef } from '../src/service-charges.js';
import { definePolicy } from '../src/policies/define-policy.js';
import type { PolicyText } from '../src/policies/policy.js';
import { RateLimitEvents } from '../src/rate-limit.events.js';
import { RateLimitLog } from '../src/rate-limit.log.js';
import { RateLimitSettings } from '../src/rate-limit.settings.js';
import { StoreWatch } from '../src/store-watch.js';
import { MemoryStore } from '../src/stores/memory/memory.store.js';
import { RateLimitStore, type Decision, type Operation } from '../src/stores/rate-limit.store.js';
import { RedisStore } from '../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../src/stores/redis/script-runner.js';
import { ManualClock } from '../src/testing/manual-clock.js';
import { counterSpace } from '../src/tiers/tier.js';
import { newSubject } from './support/policies.js';
import { RedisServer } from './support/redis-server.js';
import { atTime } from './support/virtual-time.js';

const START = 1_760_000_400_000;
const MAX = Number.MAX_SAFE_INTEGER;

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** Passes operations on and remembers them. */
class WatchedStore extends RateLimitStore {
  readonly operations: Operation[] = [];

  constructor(private readonly store: RateLimitStore) {
    super();
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    this.operations.push(operation);
    return this.store.decide(operation);
  }
}

type MakeStore = (clock: ManualClock) => RateLimitStore;

const inRedis: MakeStore = (clock) =>
  new RedisStore(atTime(scriptRunnerFor(redis, 'redis'), () => clock.now()));
const SPACES = [
  definePolicy('plan', 'token-bucket:10/1m', 'policy'),
  definePolicy('login', 'fixed-window:5/1m', 'policy'),
].map((policy) => counterSpace(policy, ''));

describe.each<[name: string, makeStore: MakeStore, spaces: string[]]>([
  ['memory', (clock) => new MemoryStore({ clock }), []],
  ['Redis', inRedis, []],
  ['Redis, with tiers in one value', inRedis, SPACES],
])('LimiterService on %s', (_name, makeStore, spaces) => {
  let clock: ManualClock;
  let store: WatchedStore;
  let limiter: LimiterService;
  let key: string;

  const keys = new CounterKeys('rl', 'secret', true, fieldsOf(spaces));

  beforeEach(() => {
    clock = new ManualClock(START);
    store = new WatchedStore(makeStore(clock));
    const settings = new RateLimitSettings({
      clock,
      onStoreFailure: 'open',
      tiers: [
        { name: 'plan', algorithm: 'token-bucket', limit: 10, window: '1m' },
        { name: 'login', policy: 'fixed-window:5/1m', onStoreFailure: 'closed' },
        { name: 'dynamic', algorithm: 'gcra', limit: () => 10, window: '1m' },
      ],
    });
    const log = new RateLimitLog(settings);
    const watch = new StoreWatch(new RateLimitEvents(log), log);
    limiter = new LimiterService(settings, store, new ServiceCharges(settings, keys), watch);
    key = newSubject();
  });

  describe('takes as a policy', () => {
    it.each<[what: string, policy: PolicyRef, name: string]>([
      ['the name of a tier', 'plan', 'plan'],
      ['an object', { name: 'sms', algorithm: 'gcra', limit: 10, window: '1m', burst: 10 }, 'sms'],
      ['text with a name', { name: 'sms', policy: 'gcra:10/1m,burst=10' }, 'sms'],
    ])('%s', async (_what, policy, name) => {
      expect(await limiter.consume(policy, key)).toMatchObject({
        policy: name,
        allowed: true,
        limit: 10,
        remaining: 9,
      });
      expect(await limiter.consume(policy, key, { cost: 4 })).toMatchObject({ remaining: 5 });
    });

    it('the numbers of a tier again, for the same counter', async () => {
      await limiter.consume('plan', key, { cost: 4 });

      expect(await limiter.peek({ name: 'plan', policy: 'token-bucket:10/1m' }, key)).toMatchObject(
        { remaining: 6 },
      );
      await expect(
        limiter.peek({ name: 'plan', policy: 'token-bucket:20/1m,burst=10' }, key),
      ).rejects.toThrow(
        "policy 'plan' is token-bucket:20/1m,burst=10, and the tier of that name is token-bucket:10/1m",
      );
    });

    it('a scope, for a counter of its own', async () => {
      const policy = 'gcra:10/1m,burst=10';
      await limiter.consume({ name: 'route', policy, scope: 'search' }, key, { cost: 10 });

      expect(await limiter.peek({ name: 'route', policy }, key)).toMatchObject({ remaining: 10 });
      expect(await limiter.peek({ name: 'route', policy, scope: 'search' }, key)).toMatchObject({
        remaining: 0,
      });
    });

    it('two names for two counters', async () => {
      await limiter.consume({ name: 'a', policy: 'gcra:10/1m,burst=10' }, key, { cost: 10 });

      expect(await limiter.peek({ name: 'b', policy: 'gcra:10/1m,burst=10' }, key)).toMatchObject({
        remaining: 10,
      });
    });
  });

  describe('takes as a key', () => {
    it('a client, counted as a tier counts it', async () => {
      const client = { kind: 'user', id: key } as const;
      const policy = definePolicy('plan', 'token-bucket:10/1m', 'policy');
      await limiter.consume('plan', client, { cost: 3 });

      const counted = keys.counter(counterSpace(policy, ''), subjectOf(client));
      const charges = [{ policy, ...counted, cost: 1 }];
      expect(await store.decide({ verb: 'peek', charges })).toMatchObject([{ remaining: 7 }]);
    });

    it('clients and names apart, even of one id', async () => {
      const id = newAddress();
      await limiter.consume('plan', { kind: 'user', id }, { cost: 10 });

      const others = [id, { kind: 'ip', id }, { kind: 'api-key', id }] as const;
      const decisions = await Promise.all(others.map((other) => limiter.peek('plan', other)));
      expect(decisions.map(({ remaining }) => remaining)).toEqual([10, 10, 10]);
    });

    it('every spelling of an address as one (SEC-10, SEC-11)', async () => {
      const id = newAddress();
      await limiter.consume('plan', { kind: 'ip', id });

      expect(await limiter.peek('plan', { kind: 'ip', id: `::ffff:${id}` })).toMatchObject({
        remaining: 9,
      });
    });
  });

  it.each<[policy: PolicyRef, onStoreFailure: string]>([
    ['plan', 'open'],
    ['login', 'closed'],
    [{ name: 'own', policy: 'gcra:10/1m' }, 'open'],
    [{ name: 'own', policy: 'gcra:10/1m', onStoreFailure: 'local' }, 'local'],
  ])('tells the store what happens to %j while it is away', async (policy, onStoreFailure) => {
    await limiter.consume(policy, key);

    expect(store.operations[0]!.charges).toMatchObject([{ onStoreFailure }]);
  });

  describe('consumeAll', () => {
    it('charges all, and names the one with the least left', async () => {
      const result = await limiter.consumeAll([
        { policy: 'plan', key },
        { policy: 'login', key, cost: 2 },
      ]);

      expect(result).toMatchObject({ allowed: true, deciding: { policy: 'login', remaining: 3 } });
      expect(result.decisions.map(({ remaining }) => remaining)).toEqual([9, 3]);
      expect(store.operations).toHaveLength(1);
    });

    // The one that keeps the caller waiting longest decides.
    it('charges none when one refuses, and names the one to wait for (SEC-55)', async () => {
      await limiter.consume('login', key, { cost: 5 });
      await limiter.consume('plan', key, { cost: 10 });

      const result = await limiter.consumeAll([
        { policy: 'plan', key },
        { policy: gateway('fixed-window:7/1m'), key },
        { policy: 'login', key },
      ]);

      expect(result).toMatchObject({ allowed: false, deciding: { policy: 'login' } });
      expect(result.decisions.map(({ allowed }) => allowed)).toEqual([false, true, false]);
      expect(await limiter.peek(gateway('fixed-window:7/1m'), key)).toMatchObject({ remaining: 7 });
    });

    it.each([[[]], [undefined], [null], [{}], ['plan']])('refuses %j', async (charges) => {
      await expect(limiter.consumeAll(charges as [])).rejects.toMatchObject({
        code: 'RATE_LIMIT_USAGE',
      });
    });

    it('takes 256 charges and no more, because they are one script', async () => {
      const many = (count: number) =>
        Array.from({ length: count }, (_, n) => ({ policy: 'plan', key: `${key}-${n}` }));

      expect((await limiter.consumeAll(many(256))).decisions).toHaveLength(256);
      await expect(limiter.consumeAll(many(257))).rejects.toThrow(
        'received 257 charges, expected 256 at most',
      );
    });
  });

  it('peeks without charging', async () => {
    await limiter.peek('plan', key, { cost: 10 });
    const refused = await limiter.peek('plan', key, { cost: 11 });

    expect(refused).toMatchObject({ allowed: false, remaining: 10, retryAfterMs: Infinity });
    expect(await limiter.consume('plan', key, { cost: 10 })).toMatchObject({ allowed: true });
  });

  it('charges into debt, and refuses until it is paid', async () => {
    await limiter.consume('plan', key);

    const charged = await limiter.charge('plan', key, 24);
    const refused = await limiter.consume('plan', key);
    clock.advance(refused.retryAfterMs - 1);
    const early = await limiter.consume('plan', key);
    clock.advance(1);

    expect(charged).toMatchObject({ allowed: true, remaining: 0 });
    // 15 tokens of debt and one for the call, 6 s each.
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: 96_000 });
    expect(early).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(await limiter.consume('plan', key)).toMatchObject({ allowed: true, remaining: 0 });
  });

  // User report 11.
  it('refunds to full at most, and nothing of a window that is over (SEC-67)', async () => {
    await limiter.consume('login', key, { cost: 5 });
    expect(await limiter.refund('login', key, 2)).toMatchObject({ remaining: 2 });
    expect(await limiter.refund('login', key, 100)).toMatchObject({ remaining: 5 });

    await limiter.consume('login', key, { cost: 5 });
    clock.advance(60_000);
    await limiter.consume('login', key, { cost: 4 });
    clock.advance(60_000);

    expect(await limiter.refund('login', key, 4)).toMatchObject({ remaining: 5 });
    expect(await limiter.consume('login', key, { cost: 6 })).toMatchObject({ allowed: false });
  });

  // User report 3.
  it('ends a block on time, however often it is hit', async () => {
    const blocked = await limiter.block('plan', key, '15m');
    for (let minute = 0; minute < 15; minute += 1) {
      await limiter.consume('plan', key);
      clock.advance(60_000);
    }

    expect(blocked).toMatchObject({ allowed: false, retryAfterMs: 900_000 });
    expect(await limiter.consume('plan', key)).toMatchObject({ allowed: true, remaining: 9 });
  });

  it('takes the last block for the one that counts', async () => {
    await limiter.block('plan', key, '15m');
    await limiter.block('plan', key, 1000);

    expect(await limiter.consume('plan', key)).toMatchObject({ retryAfterMs: 1000 });
  });

  it('unblocks, and keeps the counter', async () => {
    await limiter.consume('plan', key, { cost: 3 });
    await limiter.block('plan', key, '15m');

    expect(await limiter.unblock('plan', key)).toMatchObject({ allowed: true, remaining: 7 });
  });

  it('resets counter and block', async () => {
    await limiter.consume('plan', key, { cost: 3 });
    await limiter.block('plan', key, '15m');

    expect(await limiter.reset('plan', key)).toMatchObject({ allowed: true, remaining: 10 });
  });

  describe('before it asks the store, refuses', () => {
    let before: Decision;

    beforeEach(async () => {
      await limiter.consume('plan', key, { cost: 4 });
      before = await limiter.peek('plan', key);
      store.operations.length = 0;
    });

    async function nothingHappened(): Promise<void> {
      expect(store.operations).toEqual([]);
      expect(await limiter.peek('plan', key)).toEqual(before);
    }

    afterEach(nothingHappened);

    it.each([
      [Number.NaN],
      [Infinity],
      [-Infinity],
      [-1],
      [-0],
      [1.5],
      ['1'],
      [''],
      [1e21],
      [MAX + 1],
      [null],
      [1n],
      [true],
      [[1]],
      [{ valueOf: () => 1 }],
      [() => 1],
      [new Date(1)],
      [Symbol('1')],
    ])('a cost of %p (SEC-39)', async (bad) => {
      const cost = bad as number;
      const calls = [
        () => limiter.consume('plan', key, { cost }),
        () => limiter.peek('plan', key, { cost }),
        () => limiter.charge('plan', key, cost),
        () => limiter.refund('plan', key, cost),
        () => limiter.acquire('plan', key, { cost }),
        () => limiter.consumeAll([{ policy: 'plan', key, cost }]),
        () =>
          limiter.consumeAll([
            { policy: 'login', key },
            { policy: 'plan', key, cost },
          ]),
      ];

      for (const call of calls) {
        const error: unknown = await call().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(TypeError);
        expect(error).toMatchObject({ name: 'RateLimitUsageError', code: 'RATE_LIMIT_USAGE' });
        expect((error as Error).message).toMatch(/^cost: received .+, expected a whole number/);
      }
    });

    it.each<[options: unknown, message: string]>([
      [3, 'options: received 3, expected an object with cost'],
      [null, 'options: received null, expected an object with cost'],
      [[3], 'options: received an array, expected an object with cost'],
      [{ costs: 3 }, "options: unknown option 'costs'; did you mean 'cost'?"],
      [{ weight: 3 }, "options: unknown option 'weight', expected one of cost"],
    ])('options of %j, which would charge 1', async (options, message) => {
      const name = expect.stringContaining(message);
      const bad = options as { cost: number };

      const misuse = { code: 'RATE_LIMIT_USAGE', message: name };
      await expect(limiter.consume('plan', key, bad)).rejects.toMatchObject(misuse);
      await expect(limiter.peek('plan', key, bad)).rejects.toMatchObject(misuse);
      await expect(limiter.acquire('plan', key, bad)).rejects.toMatchObject({
        ...misuse,
        message: expect.stringContaining(message.split(' with ')[0]!.split(',')[0]!),
      });
    });

    it('a charge of several with a name that says nothing', async () => {
      const bad = [
        { policy: 'plan', key },
        { policy: 'plan', key, costs: 3 },
      ];

      await expect(limiter.consumeAll(bad)).rejects.toMatchObject({
        code: 'RATE_LIMIT_USAGE',
        message: "charges[1]: unknown option 'costs'; did you mean 'cost'?",
      });
    });

    it('a charge and a refund of nobody knows how much', async () => {
      const unknown = undefined as unknown as number;

      await expect(limiter.charge('plan', key, unknown)).rejects.toThrow(/^cost: received undef/);
      await expect(limiter.refund('plan', key, unknown)).rejects.toThrow(/^cost: received undef/);
    });

    it.each([
      [undefined],
      [null],
      [''],
      [42],
      [{}],
      [[]],
      [{ kind: 'user' }],
      [{ kind: 'user', id: 42 }],
      [{ kind: 'nobody', id: '42' }],
      [{ kind: 'user', id: '' }],
      [{ kind: 'ip', id: 'not an address' }],
      [{ kind: 'ip' }],
      [() => 'key'],
    ])('a key of %p', async (bad) => {
      await expect(limiter.consume('plan', bad as string)).rejects.toMatchObject({
        code: 'RATE_LIMIT_USAGE',
        message: expect.stringMatching(
          /^key: received .+, expected a non-empty string, or a client/,
        ),
      });
    });

    // User report 39.
    it.each<[name: string, hint: string]>([
      ['paln', "; did you mean 'plan'?"],
      ['Login', "; did you mean 'login'?"],
      ['something else', ''],
      ['', ''],
    ])('a tier that is not there: %j', async (name, hint) => {
      await expect(limiter.consume(name, key)).rejects.toMatchObject({
        code: 'RATE_LIMIT_USAGE',
        message: `no tier of forRoot is named '${name}'${hint}; a policy object needs no tier`,
      });
    });

    it('a tier whose numbers depend on a request', async () => {
      await expect(limiter.consume('dynamic', key)).rejects.toMatchObject({
        code: 'RATE_LIMIT_USAGE',
        message:
          "the numbers of tier 'dynamic' depend on the request; pass { name: 'dynamic', … } with the numbers",
      });
    });

    it.each<[policy: unknown, message: RegExp]>([
      [undefined, /policy: received undefined, expected the name of a tier, or a policy with a/],
      [null, /policy: received null, expected the name of a tier/],
      [42, /policy: received 42, expected the name of a tier/],
      [{ policy: 'gcra:10/1m' }, /policy: received an object, expected the name of a tier/],
      [{ name: '', policy: 'gcra:10/1m' }, /policy: received an object, expected the name/],
      [{ name: 'own' }, /policy 'own'\.algorithm: received undefined, expected one of/],
      [{ name: 'own', policy: 'gcra:10' }, /policy 'own': received 'gcra:10', expected/],
      [{ name: 'own', policy: 'gcra:10/1m', limit: 5 }, /policy 'own': unknown option 'limit'/],
      [
        { name: 'own', policy: 'gcra:10/1m', onStoreFailure: 'opne' },
        /policy 'own'\.onStoreFailure: received 'opne', .*did you mean 'open'/,
      ],
      [
        { name: 'own', algorithm: 'gcra', limit: Number.NaN, window: '1m' },
        /policy 'own'\.limit: received NaN, expected a whole number/,
      ],
    ])('a policy of %j', async (policy, message) => {
      await expect(limiter.consume(policy as PolicyRef, key)).rejects.toMatchObject({
        code: 'RATE_LIMIT_CONFIGURATION',
        message: expect.stringMatching(message),
      });
    });

    // User report 4.
    it.each([[0], [-1], [1.5], [Number.NaN], ['15'], ['1m '], ['3651d'], [null], [undefined]])(
      'a block of %p',
      async (duration) => {
        await expect(limiter.block('plan', key, duration as number)).rejects.toMatchObject({
          code: 'RATE_LIMIT_CONFIGURATION',
          message: expect.stringMatching(/^RateLimit: duration: received .+, expected/),
        });
      },
    );

    it.each([[-1], [1.5], [Number.NaN], [Infinity], ['15'], [null]])(
      'a wait of %p',
      async (maxWaitMs) => {
        const acquired = limiter.acquire('plan', key, { maxWaitMs: maxWaitMs as number });

        await expect(acquired).rejects.toMatchObject({
          code: 'RATE_LIMIT_CONFIGURATION',
          message: expect.stringMatching(/^RateLimit: maxWaitMs: received .+, expected/),
        });
      },
    );
  });

  describe('acquire', () => {
    const SECONDLY = gateway('token-bucket:1/1s');

    it('has its turn at once when there is room', async () => {
      expect(await limiter.acquire(SECONDLY, key)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('serves the callers of a key in their order, each as soon as it can be', async () => {
      const served: [caller: number, atMs: number][] = [];
      const callers = [0, 1, 2, 3].map((caller) =>
        limiter.acquire(SECONDLY, key).then(() => served.push([caller, clock.now() - START])),
      );

      for (let waiting = 3; waiting > 0; waiting -= 1) {
        await sleepers(clock, 1);
        clock.advance(1000);
      }
      await Promise.all(callers);

      expect(served).toEqual([
        [0, 0],
        [1, 1000],
        [2, 2000],
        [3, 3000],
      ]);
    });

    it('lets callers of another key pass', async () => {
      await limiter.acquire(SECONDLY, key);
      const waiting = limiter.acquire(SECONDLY, key);
      await sleepers(clock, 1);

      expect(await limiter.acquire(SECONDLY, `${key} other`)).toMatchObject({ allowed: true });

      clock.advance(1000);
      await waiting;
    });

    it.each([[0], [1], [999], ['999ms']])(
      'answers a refusal at once when %p is too short',
      async (maxWaitMs) => {
        await limiter.acquire(SECONDLY, key);

        const refused = await limiter.acquire(SECONDLY, key, { maxWaitMs: maxWaitMs as number });

        expect(refused).toMatchObject({ allowed: false, retryAfterMs: 1000 });
        expect(clock.sleeping).toBe(0);
      },
    );

    it('answers a refusal at once when the wait would be for ever', async () => {
      const refused = await limiter.acquire(SECONDLY, key, { cost: 2 });

      expect(refused).toMatchObject({ allowed: false, retryAfterMs: Infinity });
      expect(clock.sleeping).toBe(0);
    });

    it('waits when the wait is just short enough', async () => {
      await limiter.acquire(SECONDLY, key);

      const waiting = limiter.acquire(SECONDLY, key, { maxWaitMs: 1000 });
      await sleepers(clock, 1);
      clock.advance(1000);

      expect(await waiting).toMatchObject({ allowed: true });
    });

    it('rejects with the reason of a signal that came before', async () => {
      const reason = new Error('the client has gone');

      const acquired = limiter.acquire(SECONDLY, key, { signal: AbortSignal.abort(reason) });

      await expect(acquired).rejects.toBe(reason);
      expect(store.operations).toEqual([]);
    });

    it('rejects with the reason of a signal that comes meanwhile, and charges nothing', async () => {
      const gone = new AbortController();
      await limiter.acquire(SECONDLY, key);
      const waiting = limiter.acquire(SECONDLY, key, { signal: gone.signal });
      const next = limiter.acquire(SECONDLY, key);
      await sleepers(clock, 1);

      gone.abort(new Error('the client has gone'));
      await expect(waiting).rejects.toThrow('the client has gone');
      await sleepers(clock, 1);
      clock.advance(1000);

      expect(await next).toMatchObject({ allowed: true });
      expect(clock.sleeping).toBe(0);
    });

    describe('in a leaky bucket', () => {
      const QUEUE = gateway('leaky-bucket:10/1s');

      it('has waited its delay when it resolves', async () => {
        const served: number[] = [];
        const callers = [0, 1, 2].map(async () => {
          const { delayMs } = await limiter.acquire(QUEUE, key);
          served.push(clock.now() - START);
          return delayMs;
        });

        await sleepers(clock, 2);
        clock.advance(100);
        await sleepers(clock, 1);
        clock.advance(100);

        expect(await Promise.all(callers)).toEqual([0, 100, 200]);
        expect(served).toEqual([0, 100, 200]);
      });

      it('ends when the app shuts down', async () => {
        await limiter.acquire(QUEUE, key, { cost: 3 });
        const waiting = limiter.acquire(QUEUE, key);
        await sleepers(clock, 1);

        limiter.onApplicationShutdown();

        await expect(waiting).rejects.toThrow('RateLimit: the app is shutting down');
        await expect(limiter.acquire(QUEUE, key)).rejects.toThrow('shutting down');
      });

      it('leaves its place taken when its client goes: those behind were told to come after', async () => {
        const gone = new AbortController();
        await limiter.acquire(QUEUE, key, { cost: 3 });
        const waiting = limiter.acquire(QUEUE, key, { cost: 2, signal: gone.signal });
        await sleepers(clock, 1);

        gone.abort(new Error('the client has gone'));

        await expect(waiting).rejects.toThrow('the client has gone');
        expect(await limiter.peek(QUEUE, key)).toMatchObject({ remaining: 5 });
      });

      it('takes no place whose delay is longer than it waits', async () => {
        await limiter.acquire(QUEUE, key, { cost: 3 });

        const refused = await limiter.acquire(QUEUE, key, { maxWaitMs: 299 });

        expect(refused).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 1 });
        expect(await limiter.peek(QUEUE, key)).toMatchObject({ remaining: 7 });
      });
    });
  });
});

function gateway(text: PolicyText): NamedPolicy {
  return { name: 'gateway', policy: text };
}

/** Lets callers do what they can without time, until so many sleep. */
async function sleepers(clock: ManualClock, count: number): Promise<void> {
  const giveUpAt = Date.now() + 5_000;
  do {
    if (Date.now() > giveUpAt) throw new Error(`${clock.sleeping} sleep, not ${count}`);
    await new Promise(setImmediate);
  } while (clock.sleeping !== count);
}

let addresses = 0;

function newAddress(): string {
  addresses += 1;
  return `10.0.0.${addresses}`;
}
