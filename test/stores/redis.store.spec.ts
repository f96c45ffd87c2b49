import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { createClient } from 'redis';
import type { PolicyText } from '../../src/policies/policy.js';
import type { Charge, Decision, Operation, Verb } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { DECIDE_SCRIPT } from '../../src/stores/redis/script.generated.js';
import {
  fromNodeRedis,
  scriptRunnerFor,
  type ScriptRunner,
} from '../../src/stores/redis/script-runner.js';
import { planOf } from '../../src/stores/redis/plan.js';
import { encode } from '../../src/stores/redis/wire.js';
import { eventually } from '../support/eventually.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';

const HOUR = 3_600_000;
const MAX = Number.MAX_SAFE_INTEGER;
const SKEW_MS = 1000;
/** Redis reads its clock for TIME and for an expiry at two moments of one script. */
const SCRIPT_MS = 5;

let server: RedisServer;
let redis: Redis;
let store: RedisStore;

beforeAll(async () => {
  server = await RedisServer.start({ args: ['--enable-debug-command', 'yes'] });
  redis = new Redis(server.url, { retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  store = new RedisStore(scriptRunnerFor(redis, 'redis'));
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

async function one(verb: Verb, charge: Charge): Promise<Decision> {
  const [decision] = await store.decide({ verb, charges: [charge] });
  return decision!;
}

describe('a script that Redis does not know', () => {
  const CALLS = 200;

  const connections: [name: string, connect: () => Promise<Connected>][] = [
    ['ioredis 6', () => ioredis(new Redis(server.url))],
    ['ioredis 6, pipelining', () => ioredis(new Redis(server.url, { enableAutoPipelining: true }))],
    ['ioredis 5', () => ioredis(new Redis5(server.url))],
    ['node-redis', nodeRedis],
  ];

  let connected: Connected | undefined;

  afterEach(() => {
    connected?.disconnect();
    connected = undefined;
  });

  // RED-08, user report 20.
  it.each(connections)('is sent again after a flush in traffic: %s', async (_name, connect) => {
    connected = await connect();
    const flushed = new RedisStore(connected.runner);
    const once = chargeOf(policyOf('fixed-window:1000/3650d'), newSubject());
    await flushed.decide({ verb: 'peek', charges: [once] });

    const before = many(flushed, once, CALLS / 2);
    const flush = redis.script('FLUSH', 'SYNC');
    const after = many(flushed, once, CALLS / 2);
    const decisions = [...(await before), ...(await after)];
    await flush;
    await redis.script('FLUSH', 'SYNC');
    decisions.push(...(await many(flushed, once, CALLS)));

    const left = decisions.map(({ remaining }) => remaining).toSorted((a, b) => b - a);
    expect(left).toEqual(Array.from({ length: 2 * CALLS }, (_, index) => 999 - index));
    expect(await one('peek', once)).toMatchObject({ remaining: 1000 - 2 * CALLS });
  });

  // RED-07.
  it('is sent again after a restart, and counts to the unit', async () => {
    const once = chargeOf(policyOf('fixed-window:1000/3650d'), newSubject());
    await one('consume', once);

    await server.restart();
    const decisions = await many(store, once, CALLS);

    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    expect(await one('peek', once)).toMatchObject({ remaining: 1000 - CALLS });
  });
});

describe('the time to live', () => {
  describe.each(TEN_AN_HOUR)('of %s', (text) => {
    const policy = policyOf(text);
    let once: Charge;

    beforeEach(async () => {
      once = chargeOf(policy, newSubject());
      await one('consume', { ...once, cost: 4 });
    });

    it.each<[verb: Verb, cost: number]>([
      ['consume', 1],
      ['charge', 25],
      ['refund', 2],
      ['block', 1000],
      ['block', 30 * HOUR],
    ])('is the time to full and a second, after %s %i', async (verb, cost) => {
      const { decision, at } = await told(verb, { ...once, cost });
      const expiresAt = Number(await redis.call('PEXPIRETIME', once.key));

      const extra = expiresAt - at - decision.resetAfterMs - SKEW_MS;
      expect(Math.abs(extra)).toBeLessThanOrEqual(SCRIPT_MS);
    });

    // User report 5.
    it.each<[what: string, verb: Verb, cost: number]>([
      ['an allowed request', 'consume', 1],
      ['a refused request', 'consume', 7],
      ['a request over the capacity', 'consume', 11],
      ['a free request', 'consume', 0],
      ['a charge', 'charge', 20],
      ['a free charge', 'charge', 0],
      ['a refund', 'refund', 1],
      ['a free refund', 'refund', 0],
      ['a block', 'block', 1000],
      ['the end of a block', 'unblock', 1],
    ])('is set again by %s when it was lost', async (_what, verb, cost) => {
      await redis.persist(once.key);

      await one(verb, { ...once, cost });

      expect(await redis.pttl(once.key)).toBeGreaterThan(0);
      expect(await redis.pttl(once.key)).toBeLessThanOrEqual(6 * HOUR);
    });

    it('is set again for a key that another limit left behind', async () => {
      await redis.persist(once.key);

      await one('consume', { ...once, policy: policyOf(text.replace(':10', ':9') as PolicyText) });

      expect(await redis.pttl(once.key)).toBeGreaterThan(0);
    });

    it('is not touched by a peek, nor is the value', async () => {
      await redis.persist(once.key);
      const before = await redis.getBuffer(once.key);

      await one('peek', once);

      expect(await redis.pttl(once.key)).toBe(-1);
      expect(await redis.getBuffer(once.key)).toEqual(before);
    });

    it('needs none when nothing is left to keep', async () => {
      await one('refund', { ...once, cost: 10 });
      expect(await redis.exists(once.key)).toBe(0);

      await one('block', { ...once, cost: 1000 });
      await one('unblock', once);
      expect(await redis.exists(once.key)).toBe(0);

      await one('consume', once);
      await one('reset', once);
      expect(await redis.exists(once.key)).toBe(0);
    });
  });

  // User report 30.
  it('leaves nothing behind once all is idle (SEC-53)', async () => {
    await redis.flushall();
    const texts = TEN_AN_HOUR.map((text) => text.replaceAll('1h', '10ms') as PolicyText);
    const charges = texts.map((text) => chargeOf(policyOf(text), newSubject()));

    await store.decide({ verb: 'consume', charges });
    await store.decide({ verb: 'block', charges: charges.map((each) => ({ ...each, cost: 30 })) });

    expect(await redis.dbsize()).toBe(TEN_AN_HOUR.length);
    await eventually('Redis is empty', async () => (await redis.dbsize()) === 0, 5_000);
  });

  // RED-38.
  it('is right for windows that end between two reads', async () => {
    await redis.flushall();
    await redis.call('DEBUG', 'SET-ACTIVE-EXPIRE', '0');
    const texts = TEN_AN_HOUR.map((text) => text.replaceAll('1h', '1ms').replace(':10', ':1'));
    const charges = texts.map((text) => chargeOf(policyOf(text as PolicyText), newSubject()));

    const decisions: Decision[] = [];
    for (let call = 0; call < 100; call += 1) {
      const answers = await Promise.all(
        charges.map((charge) => store.decide({ verb: 'consume', charges: [charge] })),
      );
      decisions.push(...answers.flat());
    }
    const lives = await Promise.all((await redis.keys('*')).map((key) => redis.pttl(key)));
    await redis.call('DEBUG', 'SET-ACTIVE-EXPIRE', '1');

    const refused = decisions.filter(({ allowed }) => !allowed);
    expect(refused.filter(({ retryAfterMs }) => retryAfterMs < 1)).toEqual([]);
    expect(decisions.filter(({ resetAfterMs }) => resetAfterMs < 0)).toEqual([]);
    expect(lives.filter((life) => life === -1)).toEqual([]);
  });
});

describe('the time to live of a value of several counters', () => {
  const texts = TEN_AN_HOUR.filter((text) => !text.startsWith('sliding-window-log'));
  /** Of one value: each of an hour, and a neighbour that is full again within a minute. */
  function valueOf(text: PolicyText): { value: string; long: Charge; short: Charge } {
    const value = newSubject();
    const charge = (written: PolicyText, field: number): Charge => ({
      ...chargeOf(policyOf(written), newSubject()),
      shared: { key: value, field },
    });
    return { value, long: charge(text, 1), short: charge('token-bucket:10/1m', 2) };
  }
  const ask = (verb: Verb, ...charges: Charge[]): Promise<readonly Decision[]> =>
    store.decide({ verb, charges });

  /** A script takes a moment, and so does a test. */
  const justOver = (resetAfterMs: number): { min: number; max: number } => ({
    min: resetAfterMs - 2_000,
    max: resetAfterMs + SKEW_MS,
  });
  const isWithin = async (value: string, { min, max }: { min: number; max: number }) => {
    const life = await redis.pttl(value);
    return life >= min && life <= max ? 'within' : `${life} ms, not ${min} to ${max}`;
  };

  it.each(texts)('is that of the last to be full again: %s', async (text) => {
    const { value, long, short } = valueOf(text);
    const [first] = await ask('consume', long, short);

    expect(await isWithin(value, justOver(first!.resetAfterMs))).toBe('within');
    await ask('consume', short);
    expect(await isWithin(value, justOver(first!.resetAfterMs))).toBe('within');
  });

  it.each(
    texts.flatMap((text) =>
      (['reset', 'unblock', 'refund'] as const).map((verb): [PolicyText, typeof verb] => [
        text,
        verb,
      ]),
    ),
  )('is shorter again when the longest has gone: %s, %s', async (text, verb) => {
    const { value, long, short } = valueOf(text);
    if (verb !== 'unblock') await ask('consume', long, short);
    else await ask('consume', short);
    if (verb === 'unblock') await ask('block', { ...long, cost: 30 * HOUR });

    await ask(verb, long);

    expect((await ask('peek', long))[0]).toMatchObject({ resetAfterMs: 0 });
    expect(await isWithin(value, justOver(6_000))).toBe('within');
  });

  it.each(texts)('is mended with a clock that was ahead: %s', async (text) => {
    const { value, long, short } = valueOf(text);
    const ahead = atTime(scriptRunnerFor(redis, 'redis'), () => Date.now() + 100 * 8760 * HOUR);
    await new RedisStore(ahead).decide({ verb: 'consume', charges: [long, short] });

    const decisions = await ask('consume', long, short);

    expect(
      await isWithin(
        value,
        justOver(Math.max(...decisions.map(({ resetAfterMs }) => resetAfterMs))),
      ),
    ).toBe('within');
  });

  it('drops what nobody asks for any more once it has long been full', async () => {
    const { value, long, short } = valueOf('gcra:10/1h');
    const gone = Array.from({ length: 50 }, (_, index): Charge => ({
      ...chargeOf(policyOf('fixed-window:10/1ms'), newSubject()),
      shared: { key: value, field: 100 + index },
    }));
    await ask('charge', long, short, ...gone);
    const [before] = [await redis.strlen(value)];

    await eventually('they are gone', async () => {
      await ask('charge', short);
      return (await redis.strlen(value)) < before / 10;
    });
    await ask('consume', long, short);

    expect(await redis.strlen(value)).toBe(72);
  });
});

// RED-34: the state was made by a clock that Redis no longer has.
describe('a state from the future', () => {
  it.each(
    TEN_AN_HOUR.flatMap((text): [text: PolicyText, what: string, aheadMs: number][] => [
      [text.replaceAll('1h', '1m') as PolicyText, 'an hour', HOUR],
      [text.replaceAll('1h', '1m') as PolicyText, 'a year', 8760 * HOUR],
    ]),
  )('of %s by %s locks nobody out and refills nothing', async (text, _what, aheadMs) => {
    const once = chargeOf(policyOf(text), newSubject());
    const ahead = atTime(scriptRunnerFor(redis, 'redis'), () => Date.now() + aheadMs);
    await new RedisStore(ahead).decide({ verb: 'consume', charges: [{ ...once, cost: 10 }] });

    const refused = await one('consume', once);

    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    // In the counter, ten of a window that has just begun fade to nine in a tenth of the next.
    expect(refused.retryAfterMs).toBeLessThanOrEqual(text.includes('counter') ? 66_000 : 60_000);
    expect(await redis.pttl(once.key)).toBeLessThanOrEqual(120_000 + SKEW_MS);
  });
});

describe('the script', () => {
  const everyVerb: Verb[] = ['consume', 'peek', 'charge', 'refund', 'block', 'unblock', 'reset'];

  // RED-36, script rules 3 and 9.
  it('reads the time once and touches only its keys, with five commands', async () => {
    const subject = newSubject();
    const charges = TEN_AN_HOUR.map((text) => chargeOf(policyOf(text), subject));
    const monitor = await redis.monitor();
    const seen: string[][] = [];
    let isOver = false;
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source === 'lua') seen.push(args);
      if (args[1] === 'the end') isOver = true;
    });

    await redis.rpush(charges[0]!.key, 'of another type');
    for (const verb of everyVerb) {
      await store.decide({ verb, charges });
      await redis.persist(charges[1]!.key);
      await store.decide({ verb, charges: charges.map((each) => ({ ...each, cost: 0 })) });
    }
    await redis.echo('the end');
    await eventually('the monitor has caught up', () => Promise.resolve(isOver));
    monitor.disconnect();

    const names = seen.map(([name]) => name!.toLowerCase());
    const touched = new Set(seen.flatMap(([, key]) => key ?? []));
    const known = new Set(charges.map(({ key }) => key));
    expect([...new Set(names)].toSorted()).toEqual(['del', 'mget', 'pttl', 'set', 'time']);
    expect(names.filter((name) => name === 'time')).toHaveLength(2 * everyVerb.length);
    expect(touched).toEqual(known);
  });

  const wholes: [what: string, place: number][] = [
    ['limit', 5],
    ['window', 6],
    ['burst', 7],
    ['max delay', 8],
    ['rate', 9],
    ['unit', 10],
    ['cost', 11],
    ['field', 13],
  ];
  const notWhole = [
    ...['nan', 'inf', '-inf', '1.5', '-1', '', '1,5', 'x', '1e400'],
    ...['9007199254740992', '9'.repeat(400), '1'.repeat(17)],
  ];

  // Catalogue facts 7 and 8, script rule 1.
  it.each([
    ...wholes.flatMap(([what, place]) =>
      notWhole.map((text): [string, number, string] => [what, place, text]),
    ),
    ['window', 6, '0'],
    ['unit', 10, '0'],
    ['algorithm', 4, 'no such law'],
    ['verb', 2, 'no such verb'],
  ])('refuses a %s (argument %i) of %j, and only the operation it is in', async (...row) => {
    const [, place, text] = row;
    const subject = newSubject();
    const bad = chargeOf(policyOf('token-bucket:10/1h', 'bad'), subject);
    const good = chargeOf(policyOf('token-bucket:20/1h', 'good'), subject);
    const operations: Operation[] = [
      { verb: 'consume', charges: [bad] },
      { verb: 'consume', charges: [good] },
    ];
    const { keys, args } = encode(operations.map(planOf));
    args[place] = text;

    const reply = await redis.eval(DECIDE_SCRIPT.lua, keys.length, ...keys, ...args);

    expect(String(reply)).toMatch(/^\d+,-2,19,\d+$/);
    expect(await redis.exists(bad.key)).toBe(0);
    expect(await redis.exists(good.key)).toBe(1);
  });

  it.each([
    ['shapes', 1],
    ['charges', 3],
    ['runs', 14],
    ['operations', 16],
  ])('counts no further than its arguments when told of 2^53 − 1 %s', async (_what, place) => {
    const charges = [chargeOf(policyOf('token-bucket:10/1h'), newSubject())];
    const { keys, args } = encode([planOf({ verb: 'consume', charges })]);
    args[place] = String(MAX);

    const reply = await redis.eval(DECIDE_SCRIPT.lua, keys.length, ...keys, ...args);

    expect(String(reply)).toMatch(/^\d+/);
  });

  it.each<[text: PolicyText, verb: Verb, cost: number]>([
    [`fixed-window:${MAX}/1ms`, 'consume', MAX],
    [`fixed-window:${MAX}/3650d`, 'consume', MAX - 1],
    ['sliding-window-counter:28561/3650d', 'charge', MAX],
    ['sliding-window-counter:9007199254740991/1ms', 'charge', MAX],
    [`token-bucket:${MAX}/1ms`, 'consume', MAX - 1],
    ['token-bucket:1/1ms', 'charge', MAX],
    ['gcra:1/1ms', 'charge', MAX],
    ['leaky-bucket:7/3650d', 'charge', MAX],
    ['gcra:10/1h', 'block', 3650 * 24 * HOUR],
  ])('writes numbers out in full: %s, %s %i (SEC-45)', async (text, verb, cost) => {
    const once = chargeOf(policyOf(text), newSubject());
    const { keys, args } = encode([planOf({ verb, charges: [{ ...once, cost }] })]);

    const reply = await redis.eval(DECIDE_SCRIPT.lua, keys.length, ...keys, ...args);

    expect(String(reply)).toMatch(/^\d+(,-?\d+){2,5}$/);
  });
});

describe('a reply of another shape', () => {
  // An answer that is not one must never admit or refuse anybody.
  it.each<[reply: unknown]>([
    [undefined],
    [null],
    [true],
    [42],
    [[]],
    [{ allowed: true }],
    [''],
    ['OK'],
    ['1760000400000,9,1'],
    [[1760000400000]],
    [[1760000400000, 9]],
    [[1760000400000, 9, 1, 0]],
    [[1760000400000, 9, 1, 9, 1]],
    [['x', 9, 1]],
    [[1760000400000, 'nan', 1]],
    [[1760000400000, 9, 'inf']],
    [[1760000400000, 9, '']],
    [[1760000400000, 9, null]],
    [[1760000400000, true, 1]],
    [[1760000400000, 9.5, 1]],
    [[1760000400000, 9, -1]],
    [[1760000400000, -1]],
    [[1760000400000, -1, 5, 0, 0]],
    [[1760000400000, -1, -2, 0, 0, 1]],
    [[1760000400000, -1, 5, -1, 0, 1]],
    [[1760000400000, -1, 5, 0, -1, 1]],
    [[1760000400000, -1, 5, 0, 0, 1, 0]],
    [[1760000400000, -2]],
    [[1760000400000, -3, 1]],
    [Buffer.from('1760000400000 9 1')],
  ])('rejects: %j (SEC-46)', async (reply) => {
    const strange = new RedisStore({ run: () => Promise.resolve(reply) });
    const charges = [chargeOf(policyOf('gcra:10/1h'), newSubject())];

    await expect(strange.decide({ verb: 'consume', charges })).rejects.toThrow(/^the script re/);
  });
});

async function many(into: RedisStore, charge: Charge, calls: number): Promise<Decision[]> {
  const asked = Array.from({ length: calls }, () =>
    into.decide({ verb: 'consume', charges: [charge] }),
  );
  return (await Promise.all(asked)).flat();
}

interface Told {
  readonly decision: Decision;
  readonly at: number;
}

/** A decision, and Redis's time of it. */
async function told(verb: Verb, charge: Charge): Promise<Told> {
  let at = Number.NaN;
  const runner = scriptRunnerFor(redis, 'redis');
  const listening = new RedisStore({
    run: async (...call) => {
      const reply = await runner.run(...call);
      at = Number((reply as number[])[0]);
      return reply;
    },
  });
  const [decision] = await listening.decide({ verb, charges: [charge] });
  return { decision: decision!, at };
}

interface Connected {
  readonly runner: ScriptRunner;
  readonly disconnect: () => unknown;
}

async function ioredis(client: Redis | Redis5): Promise<Connected> {
  await client.ping();
  return {
    runner: scriptRunnerFor(client, 'redis'),
    disconnect: () => client.disconnect(),
  };
}

async function nodeRedis(): Promise<Connected> {
  const client = createClient({ url: server.url });
  await client.connect();
  return { runner: fromNodeRedis(client), disconnect: () => client.destroy() };
}
