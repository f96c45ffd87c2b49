import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import type { PolicyText } from '../../src/policies/policy.js';
import { DeniedCacheStore } from '../../src/stores/denied-cache.store.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type Operation,
  type Verb,
} from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';
import { outcome, sameOutcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';
import { describeConformance } from './store-conformance.js';

const START = 1_760_000_400_000;
const HOUR = 3_600_000;

/** Stands in for Redis, and tells what reached it. */
class Shared extends RateLimitStore {
  readonly asked: Operation[] = [];
  readonly inner: MemoryStore;
  isAway = false;

  constructor(clock: { now(): number }) {
    super();
    this.inner = new MemoryStore({ clock, source: 'redis' });
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    this.asked.push(operation);
    return this.isAway ? Promise.reject(new Error('away')) : this.inner.decide(operation);
  }
}

/** The same, with replies that stay under way until they are let go, in any order. */
class Slow extends Shared {
  readonly replies: (() => void)[] = [];

  override async decide(operation: Operation): Promise<readonly Decision[]> {
    const decisions = super.decide(operation);
    await new Promise<void>((resolve) => this.replies.push(resolve));
    return decisions;
  }
}

const FIVE = policyOf('token-bucket:5/5s');
const clock = new ManualClock(START);
let shared: Shared;
let cache: DeniedCacheStore;
let once: Charge;
const costing = (cost: number): Charge => ({ ...once, cost });
const ask = (verb: Verb, ...charges: Charge[]) => cache.decide({ verb, charges });
const one = async (verb: Verb, charge: Charge): Promise<Decision> => (await ask(verb, charge))[0]!;
const consume = (charge: Charge) => one('consume', charge);

/** Uses the quota up, and is refused once. */
async function refused(charge = once): Promise<Decision> {
  await one('charge', { ...charge, cost: charge.policy.limit });
  return consume(charge);
}

beforeEach(() => {
  clock.set(START);
  shared = new Shared(clock);
  cache = new DeniedCacheStore({ store: shared, clock, maxLifeMs: HOUR });
  once = chargeOf(FIVE, newSubject());
});

describe('what is refused', () => {
  it('is refused again without asking, with its times counted down', async () => {
    const first = await refused();
    clock.advance(300);

    const again = await consume(once);

    expect(first).toMatchObject({ allowed: false, retryAfterMs: 1000, source: 'redis' });
    expect(again).toEqual({
      ...first,
      retryAfterMs: 700,
      resetAfterMs: first.resetAfterMs - 300,
      source: 'denied-cache',
    });
    expect(shared.asked).toHaveLength(2);
  });

  it('is asked for again one millisecond before it is over, and not one earlier', async () => {
    const { retryAfterMs } = await refused();

    clock.advance(retryAfterMs - 2);
    const kept = await consume(once);
    clock.advance(1);
    const early = await consume(once);
    clock.advance(1);
    const due = await consume(once);

    expect(kept).toMatchObject({ allowed: false, retryAfterMs: 2, source: 'denied-cache' });
    expect(early).toMatchObject({ allowed: false, retryAfterMs: 1, source: 'redis' });
    expect(due).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('is asked for again when its life is over, to the millisecond', async () => {
    cache = new DeniedCacheStore({ store: shared, clock, maxLifeMs: 250 });
    await refused();

    clock.advance(249);
    const kept = await consume(once);
    clock.advance(1);

    expect(kept.source).toBe('denied-cache');
    expect((await consume(once)).source).toBe('redis');
  });

  it('is kept for a second at most unless it is told otherwise', async () => {
    cache = new DeniedCacheStore({ store: shared, clock });
    await refused(costing(4));

    clock.advance(999);
    const kept = await consume(costing(4));
    clock.advance(1);

    expect(kept.source).toBe('denied-cache');
    expect((await consume(costing(4))).source).toBe('redis');
  });

  it('for ever is kept for that life too', async () => {
    cache = new DeniedCacheStore({ store: shared, clock, maxLifeMs: 250 });
    await consume(costing(6));

    clock.advance(249);
    const kept = await consume(costing(7));
    clock.advance(1);

    expect(kept).toMatchObject({ retryAfterMs: Infinity, source: 'denied-cache' });
    expect((await consume(costing(6))).source).toBe('redis');
  });

  it('stays refused while the store is away, and no longer', async () => {
    await refused();
    shared.isAway = true;

    clock.advance(900);
    const kept = await consume(once);
    clock.advance(99);

    expect(kept).toMatchObject({ allowed: false, retryAfterMs: 100 });
    await expect(consume(once)).rejects.toThrow('away');
  });

  it.each<[what: string, other: () => Charge]>([
    ['another key', () => chargeOf(FIVE, newSubject())],
    ['a raised limit', () => ({ ...once, policy: policyOf('token-bucket:6/5s') })],
    ['a larger burst', () => ({ ...once, policy: policyOf('token-bucket:5/5s,burst=6') })],
    ['a shadow charge', () => ({ ...once, isShadow: true })],
  ])('says nothing about %s', async (_what, other) => {
    await refused();

    expect((await consume(other())).source).toBe('redis');
  });

  it('is not kept when another store than a shared one says so', async () => {
    const memory = new MemoryStore({ clock, source: 'fallback' });
    cache = new DeniedCacheStore({ store: memory, clock });
    await refused();

    expect((await consume(once)).source).toBe('fallback');
    expect(cache.size).toBe(0);
  });

  it('is told under the name that asks', async () => {
    await refused();

    const renamed = await consume({ ...once, policy: policyOf('token-bucket:5/5s', 'other') });

    expect(renamed).toMatchObject({ policy: 'other', source: 'denied-cache' });
  });

  it('is not told by a peek, nor kept from one', async () => {
    await one('charge', costing(5));
    await one('peek', once);
    const first = await consume(once);

    const peeked = await one('peek', once);

    expect([first.source, peeked.source]).toEqual(['redis', 'redis']);
  });
});

describe('another cost', () => {
  it.each([0, 1, 2])('that might fit is asked for: %i', async (cost) => {
    await one('charge', costing(4));
    await consume(costing(3));

    expect((await consume(costing(cost))).source).toBe('redis');
  });

  it('over the capacity never passes, and that is known here', async () => {
    await refused();

    expect(await consume(costing(6))).toMatchObject({
      allowed: false,
      retryAfterMs: Infinity,
      source: 'denied-cache',
    });
  });

  it('that is dearer has a wait of its own, which is asked for once', async () => {
    await refused();

    const dearer = await consume(costing(3));
    clock.advance(500);
    const again = [await consume(costing(3)), await consume(once)];

    expect(dearer).toMatchObject({ retryAfterMs: 3000, source: 'redis' });
    expect(again).toMatchObject([
      { retryAfterMs: 2500, source: 'denied-cache' },
      { retryAfterMs: 500, source: 'denied-cache' },
    ]);
  });

  it('that is dearer has one too after a burst of a cheaper one', async () => {
    await one('charge', costing(5));
    await Promise.all([1, 2, 3, 4].map(() => consume(once)));

    expect(await consume(costing(3))).toMatchObject({ retryAfterMs: 3000, source: 'redis' });
  });

  it('has the wait of a cheaper one when four others are kept', async () => {
    await one('charge', costing(5));
    for (const cost of [5, 4, 3, 2, 1]) await consume(costing(cost));

    const told = await consume(costing(5));

    expect(told).toMatchObject({ allowed: false, source: 'denied-cache' });
    expect(told.retryAfterMs).toBeLessThan(5000);
  });

  it('that is dearer is refused unasked when four costs are kept', async () => {
    once = chargeOf(policyOf('token-bucket:100/100s'), newSubject());
    await refused();
    for (const cost of [2, 3, 4]) await consume(costing(cost));
    shared.asked.length = 0;

    const decisions = [];
    for (let cost = 5; cost < 100; cost++) decisions.push(await consume(costing(cost)));

    expect(decisions.every(({ allowed }) => !allowed)).toBe(true);
    expect(shared.asked).toHaveLength(0);
  });
});

describe('several charges', () => {
  const minute = policyOf('fixed-window:10/1m', 'minute');
  const day = policyOf('fixed-window:5/1d', 'day');
  let charges: [Charge, Charge];

  beforeEach(async () => {
    const subject = newSubject();
    charges = [chargeOf(minute, subject), chargeOf(day, subject)];
    await one('charge', { ...charges[1], cost: 5 });
    await one('consume', charges[0]);
    await ask('consume', ...charges);
  });

  const sources = (decisions: readonly Decision[]) => decisions.map(({ source }) => source);

  it('are answered together, those that pass as they stood', async () => {
    clock.advance(400);

    const decisions = await ask('consume', ...charges);

    expect(sources(decisions)).toEqual(['denied-cache', 'denied-cache']);
    expect(decisions.map(outcome)).toEqual(
      (await shared.inner.decide({ verb: 'consume', charges })).map(outcome),
    );
  });

  it('are answered for any cost of the others that would have passed', async () => {
    const fits = await ask('consume', { ...charges[0], cost: 9 }, charges[1]);
    const mightNot = await ask('consume', { ...charges[0], cost: 10 }, charges[1]);

    expect(fits).toMatchObject([{ allowed: true, remaining: 9 }, { allowed: false }]);
    expect(sources(fits)).toEqual(['denied-cache', 'denied-cache']);
    expect(sources(mightNot)).toEqual(['redis', 'redis']);
  });

  it.each<[what: string, other: () => Charge[]]>([
    ['one of them alone', () => [charges[0]]],
    ['another order', () => charges.toReversed()],
    ['one that counts as a shadow', () => [charges[0], { ...charges[1], isShadow: true }]],
    ['others besides', () => [...charges, chargeOf(minute, newSubject())]],
  ])('say nothing about %s', async (_what, other) => {
    expect(new Set(sources(await ask('consume', ...other())))).toEqual(new Set(['redis']));
  });

  it('are asked for again when the first of several refusals is nearly over', async () => {
    await one('charge', { ...charges[0], cost: 10 });
    const [first] = await ask('consume', ...charges);

    clock.advance(first!.retryAfterMs - 1);

    expect(sources(await ask('consume', ...charges))).toEqual(['redis', 'redis']);
  });

  it('are not kept when only a shadow charge is refused, for they were charged', async () => {
    const shadowed = [charges[0], { ...charges[1], isShadow: true }];
    await ask('consume', ...shadowed);

    const decisions = await ask('consume', ...shadowed);

    expect(decisions).toMatchObject([{ remaining: 7 }, { allowed: false, source: 'redis' }]);
  });

  it('of one key are always asked for, as they meet what the call itself would leave', async () => {
    const twice = [
      { ...charges[0], cost: 8 },
      { ...charges[0], cost: 8 },
    ];
    await ask('consume', ...twice);

    expect(sources(await ask('consume', ...twice))).toEqual(['redis', 'redis']);
  });

  // A store takes any text for a key.
  it('are told apart whatever is in their keys', async () => {
    const [a, b] = charges;
    const both = { ...a, key: `${a.key}!${b.policy.text} ${b.key}` };

    expect(await consume(both)).toMatchObject({ allowed: true, source: 'redis' });
  });
});

describe('a change of a key in this process', () => {
  const verbs: [verb: Verb, cost: number][] = [
    ['refund', 2],
    ['reset', 1],
    ['unblock', 1],
    ['block', 100],
    ['charge', 1],
  ];

  it.each(verbs)('drops what was kept of it: %s', async (verb, cost) => {
    const other = chargeOf(FIVE, newSubject());
    await refused(other);
    await refused();
    const both = [other, once];
    await ask('consume', ...both);

    await one(verb, costing(cost));

    const sources = [await consume(other), ...(await ask('consume', ...both)), await consume(once)];
    expect(sources.map(({ source }) => source)).toEqual([
      'denied-cache',
      ...['redis', 'redis', 'redis'],
    ]);
  });

  it('drops it even if the store then fails to answer', async () => {
    await refused();
    shared.isAway = true;
    await expect(one('refund', costing(5))).rejects.toThrow('away');
    shared.isAway = false;

    expect((await consume(once)).source).toBe('redis');
  });

  it.each(verbs.slice(0, 3))('drops it before the reply: %s', async (verb, cost) => {
    await refused();

    const changing = one(verb, costing(cost));
    const meanwhile = await consume(once);
    await changing;

    expect(meanwhile.source).toBe('redis');
  });

  it('outdates a refusal that is under way', async () => {
    const slow = new Slow(clock);
    cache = new DeniedCacheStore({ store: slow, clock, maxLifeMs: HOUR });
    slow.inner.decideNow({ verb: 'charge', charges: [costing(5)] });

    const late = consume(once);
    const changing = one('reset', once);
    slow.replies[1]!();
    await changing;
    slow.replies[0]!();
    await late;
    const next = consume(once);
    slow.replies[2]?.();

    expect((await late).allowed).toBe(false);
    expect(await next).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('outdates a refusal that was asked for and told while it was under way', async () => {
    const slow = new Slow(clock);
    cache = new DeniedCacheStore({ store: slow, clock, maxLifeMs: HOUR });
    slow.inner.decideNow({ verb: 'charge', charges: [costing(5)] });

    const changing = one('block', costing(100));
    const meanwhile = consume(once);
    slow.replies[1]!();
    await meanwhile;
    slow.replies[0]!();
    await changing;
    const next = consume(once);
    slow.replies[2]?.();

    expect((await next).source).toBe('redis');
  });

  // A faster bucket moves the shared level on; so it is less long until the slower one passes.
  it('is also a call under other numbers', async () => {
    const slower = { ...once, policy: policyOf('gcra:10/10s,burst=10'), cost: 10 };
    const faster = { ...once, policy: policyOf('gcra:1000/10s,burst=10') };
    await consume(slower);
    await consume(slower);

    clock.advance(200);
    await consume(faster);
    clock.advance(20);

    const [truth] = shared.inner.decideNow({ verb: 'peek', charges: [slower] });
    expect(truth!.allowed).toBe(true);
    expect((await consume(slower)).allowed).toBe(true);
  });

  it('is a call under other numbers before its reply, too', async () => {
    await refused();

    const other = consume({ ...once, policy: policyOf('token-bucket:50/5s') });
    const meanwhile = await consume(once);
    await other;

    expect(meanwhile.source).toBe('redis');
  });

  it('is a call under other numbers that was under way before anything was kept', async () => {
    const slow = new Slow(clock);
    cache = new DeniedCacheStore({ store: slow, clock, maxLifeMs: HOUR });
    slow.inner.decideNow({ verb: 'charge', charges: [costing(5)] });

    const first = consume(once);
    const other = consume({ ...once, policy: policyOf('token-bucket:50/5s') });
    slow.replies[0]!();
    await first;
    slow.replies[1]!();
    await other;
    const next = consume(once);
    slow.replies[2]?.();

    expect((await next).source).toBe('redis');
  });

  it('forgets everything when the clock goes back', async () => {
    await refused();
    clock.advance(500);
    await consume(once);
    clock.advance(-100);

    expect((await consume(once)).source).toBe('redis');
  });
});

describe('its bounds', () => {
  it.each([1, 2, 100])('keeps the newest %i lists of charges and no more', async (maxKeys) => {
    cache = new DeniedCacheStore({ store: shared, clock, maxKeys, maxLifeMs: HOUR });
    const charges = Array.from({ length: 3 * maxKeys }, () => chargeOf(FIVE, newSubject()));

    for (const charge of charges) {
      await consume({ ...charge, cost: 6 });
      expect(cache.size).toBeLessThanOrEqual(maxKeys);
    }
    const newest = charges.slice(-maxKeys);
    const kept = await Promise.all(newest.map((charge) => consume({ ...charge, cost: 6 })));
    const gone = await consume({ ...charges[0]!, cost: 6 });

    expect(kept.every(({ source }) => source === 'denied-cache')).toBe(true);
    expect(gone.source).toBe('redis');
  });

  it('needs no room for what is kept already', async () => {
    cache = new DeniedCacheStore({ store: shared, clock, maxKeys: 2, maxLifeMs: HOUR });
    const older = chargeOf(FIVE, newSubject());
    await refused(older);
    await refused();
    await refused();

    expect((await consume(older)).source).toBe('denied-cache');
  });

  it('forgets refusals rather than changes when too many keys change', async () => {
    cache = new DeniedCacheStore({ store: shared, clock, maxKeys: 10, maxLifeMs: HOUR });
    await refused();
    await one('reset', once);
    for (let n = 0; n < 1000; n++) await one('reset', chargeOf(FIVE, newSubject()));

    expect(await consume(once)).toMatchObject({ allowed: true, source: 'redis' });
  });
});

const policies = (
  [
    ['fixed-window:10/1s', 'fixed-window:4/1s'],
    ['sliding-window-log:10/1s', 'sliding-window-log:7/1s'],
    ['sliding-window-counter:10/1s', 'sliding-window-counter:7/1s'],
    ['token-bucket:10/1s', 'token-bucket:70/1s', 'token-bucket:0/1s', 'token-bucket:10/1s,burst=3'],
    ['gcra:10/1s,burst=10', 'gcra:70/1s,burst=3'],
    ['leaky-bucket:10/1s,maxDelay=300ms', 'leaky-bucket:7/1s'],
  ] satisfies PolicyText[][]
).map((texts: PolicyText[]) => texts.map((text) => policyOf(text)));

interface Step {
  readonly afterMs: number;
  readonly verb: Verb;
  readonly wanted: readonly { key: number; limit: number; cost: number; isShadow: boolean }[];
  readonly times: number;
}

interface World {
  readonly keys: fc.Arbitrary<number>;
  readonly maxCharges: number;
  readonly stepBackMs: number;
}

function lifeIn({ keys, maxCharges, stepBackMs }: World): fc.Arbitrary<Step[]> {
  const wanted = fc.record({
    key: keys,
    limit: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(3)),
    cost: fc.oneof({ weight: 4, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.nat(12) }),
    isShadow: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.boolean()),
  });
  const step = fc.record({
    afterMs: fc.oneof(
      { weight: 6, arbitrary: fc.nat(60) },
      { weight: 2, arbitrary: fc.nat(400) },
      { weight: 1, arbitrary: fc.integer({ min: -stepBackMs, max: 3000 }) },
    ),
    verb: fc.oneof(
      { weight: 20, arbitrary: fc.constant<Verb>('consume') },
      fc.constantFrom<Verb>('peek', 'charge', 'refund', 'block', 'unblock', 'reset'),
    ),
    wanted: fc.array(wanted, { minLength: 1, maxLength: maxCharges }),
    times: fc.integer({ min: 1, max: 3 }),
  });
  return fc.array(step, { minLength: 1, maxLength: 60 });
}

/** A call, what the cached store said of it, and what the other did. */
interface Call {
  readonly charges: readonly Charge[];
  readonly told: readonly Decision[];
  readonly truth: readonly Decision[];
}

const isCached = ({ told }: Call): boolean => told[0]!.source === 'denied-cache';

/** What reaches the store finds it as it would be without a cache; a refusal is one there too. */
function isFaithful(call: Call): boolean {
  const { charges, told, truth } = call;
  if (!isCached(call)) return told.every((decision, at) => sameOutcome(decision, truth[at]!));
  const isRefused = (decisions: readonly Decision[]): boolean =>
    decisions.some(({ allowed }, at) => !allowed && charges[at]!.isShadow !== true);
  return isRefused(told) && isRefused(truth) && told.every((mine, at) => isRight(mine, truth[at]!));
}

/** Siblings are as they stood. A wait may have grown since, never shrunk. */
function isRight({ allowed, retryAfterMs }: Decision, truth: Decision): boolean {
  return allowed || (!truth.allowed && retryAfterMs > 0 && retryAfterMs <= truth.retryAfterMs);
}

async function live(life: readonly Step[]): Promise<Call[]> {
  clock.set(START);
  const alone = new MemoryStore({ clock });
  cache = new DeniedCacheStore({ store: new Shared(clock), clock, maxLifeMs: HOUR });
  const calls: Call[] = [];
  for (const { afterMs, verb, wanted, times } of life) {
    clock.advance(afterMs);
    const charges = wanted.map(({ key, limit, cost, isShadow }): Charge => {
      const limits = policies[key]!;
      return { policy: limits[limit % limits.length]!, key: `key ${key}`, cost, isShadow };
    });
    for (let time = 0; time < times; time++) {
      const truth = alone.decideNow({ verb, charges });
      calls.push({ charges, truth, told: await cache.decide({ verb, charges }) });
    }
  }
  return calls;
}

describe('random lives beside a store without it', () => {
  const keys = fc.nat(policies.length - 1);

  // A clock goes back for one key only: what the memory store has swept depends on who else asked.
  it.each<[what: string, world: World]>([
    ['single charges', { keys, maxCharges: 1, stepBackMs: 0 }],
    ['several charges', { keys, maxCharges: 4, stepBackMs: 0 }],
    ...policies.map(([policy], key): [string, World] => [
      `a ${policy!.algorithm} whose clock may go back`,
      { keys: fc.constant(key), maxCharges: 1, stepBackMs: 3000 },
    ]),
  ])('refuse what that refuses, and change nothing: %s', async (_what, world) => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(lifeIn(world), async (life) => {
        const calls = await live(life);
        answered += calls.filter(isCached).length;

        expect(calls.filter((call) => !isFaithful(call))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );

    expect(answered).toBeGreaterThan(1_000);
  });
});

// In tenths of milliseconds: Redis and this process floor time at different moments.
const phase = fc.nat(9);

describe('two clocks that tick at different moments, and calls that take time', () => {
  it('never refuse what the store would admit, nor tell to come back too early', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({ ours: phase, theirs: phase, out: fc.nat(30), back: fc.nat(30) }),
        fc.constantFrom(...policies.map(([policy]) => policy!)),
        fc.nat(5000),
        fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 1, maxLength: 10 }),
        async ({ ours, theirs, out, back }, policy, startsAt, probes) => {
          let tenths = START * 10 + startsAt;
          const at = (offset: number) => ({ now: () => Math.floor((tenths + offset) / 10) });
          const inner = new MemoryStore({ clock: at(theirs), source: 'redis' });
          cache = new DeniedCacheStore({
            clock: at(ours),
            store: {
              close: () => Promise.resolve(),
              decide: async (operation) => {
                await Promise.resolve();
                tenths += out;
                const decisions = inner.decideNow(operation);
                tenths += back;
                return Promise.resolve(decisions);
              },
            },
          });
          const charge = chargeOf(policy, newSubject(), 3);
          inner.decideNow({ verb: 'charge', charges: [{ ...charge, cost: 10 }] });
          tenths += 777;

          const sent = tenths;
          const { retryAfterMs, allowed } = await consume(charge);
          if (allowed) return;

          for (const probe of probes.toSorted((a, b) => a - b)) {
            const then = Math.max(tenths, sent + retryAfterMs * 10 + probe);
            tenths = then;
            const [truth] = inner.decideNow({ verb: 'peek', charges: [charge] });
            const told = await consume(charge);
            if (told.source !== 'denied-cache') return;
            answered++;
            expect(truth!.allowed).toBe(false);
            // Both told to the millisecond, so less than one apart.
            expect(told.retryAfterMs).toBeGreaterThanOrEqual(truth!.retryAfterMs - 1);
          }
        },
      ),
      { numRuns: 5_000 },
    );
    expect(answered).toBeGreaterThan(100);
  });
});

describe('around Redis', () => {
  let server: RedisServer;
  let redis: Redis;
  let scripts = 0;
  const counted = (): ScriptRunner => {
    const runner = atTime(scriptRunnerFor(redis, 'redis'), () => clock.now());
    return {
      run: (...call) => {
        scripts++;
        return runner.run(...call);
      },
    };
  };

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url);
  });

  beforeEach(() => {
    scripts = 0;
    cache = new DeniedCacheStore({ store: new RedisStore(counted()), clock });
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it.each(TEN_AN_HOUR)('asks once a second in an attack of 10,000 calls: %s', async (text) => {
    const charge = chargeOf(policyOf(text), newSubject());
    await one('charge', { ...charge, cost: 10 });
    scripts = 0;

    for (let call = 0; call < 10_000; call++) {
      expect((await consume(charge)).allowed).toBe(false);
      clock.advance(1);
    }

    expect(scripts).toBe(10);
  });

  it('asks no more often when the costs of an attack vary', async () => {
    const charge = chargeOf(policyOf('token-bucket:1000/30d'), newSubject());
    await one('charge', { ...charge, cost: 1000 });
    scripts = 0;

    for (let call = 0; call < 10_000; call++) {
      await consume({ ...charge, cost: 1 + ((call * 7919) % 1000) });
    }

    expect(scripts).toBeLessThanOrEqual(20);
  });
});

describe.each([
  ['the usual life', 1_000],
  ['a life without end', 1_000 * HOUR],
])('conformance around Redis, with %s', (_what, maxLifeMs) => {
  describeConformance(async (manual) => {
    const server = await RedisServer.start();
    const redis = new Redis(server.url);
    const runner = atTime(scriptRunnerFor(redis, 'redis'), () => manual.now());
    return {
      store: new DeniedCacheStore({ store: new RedisStore(runner), clock: manual, maxLifeMs }),
      close: async () => {
        redis.disconnect();
        await server.stop();
      },
    };
  });
});
