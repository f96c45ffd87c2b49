import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import type { PolicyText } from '../../src/policies/policy.js';
import type { Charge, Decision, Verb } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';

const START = 1_760_000_400_000;
const RUNS = 400;
const FIELD = 3_000_000_000;
const NINES = '9'.repeat(400);

const clock = new ManualClock(START);
let server: RedisServer;
let redis: Redis;
let store: RedisStore;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url, { enableAutoPipelining: true });
  store = new RedisStore(atTime(scriptRunnerFor(redis, 'redis'), () => clock.now()));
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

beforeEach(() => clock.set(START));

const ask = (verb: Verb, ...charges: Charge[]): Promise<readonly Decision[]> =>
  store.decide({ verb, charges });

/** Every row puts something at a key that this library has not written. */
const foreign: [what: string, put: (key: string) => Promise<unknown>][] = [
  ['a hash', (key) => redis.hset(key, 'tokens', '3')],
  ['a list', (key) => redis.rpush(key, '1', '2')],
  ['a set', (key) => redis.sadd(key, 'a')],
  ['a sorted set', (key) => redis.zadd(key, START, 'a')],
  ['a stream', (key) => redis.xadd(key, '*', 'a', 'b')],
  ...[
    '',
    ' ',
    'garbage',
    '7',
    'nan nan',
    'inf inf inf inf',
    '-1 -1',
    `-${START} 5`,
    `${START} -5`,
    `${START + 1} 5`,
    `${START} 5 5 5 5`,
    `${START} 1.5 2.5 3.5`,
    `${START} 0x5`,
    `${START} 1e3 1e3`,
    `${START} 9007199254740992`,
    `${START} ${NINES} ${NINES}`,
    `${NINES} ${NINES} ${NINES} ${NINES}`,
    `${START} 5 0 5`,
    `${START} 9007199254740992 1 1`,
    ` ${START} 5`,
    `${START} 5\n`,
    '{"count":3}',
    '!',
    '! ',
    '!abc def',
    `!${NINES} garbage`,
    `!${START - 1} garbage`,
    '\0\0\0\0\0\0\0\0',
    '1',
    '3\0\0\0',
    '7\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
    '9'.repeat(100_000),
  ].map((text): [string, (key: string) => Promise<unknown>] => [
    JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text),
    (key) => redis.set(key, text),
  ]),
];

/** Alone in a value, and as one of several that could be in it; a log always stands alone. */
const kinds = TEN_AN_HOUR.flatMap((text): [text: PolicyText, isSharing: boolean][] =>
  text.startsWith('sliding-window-log')
    ? [[text, false]]
    : [
        [text, false],
        [text, true],
      ],
);

describe.each(kinds)('a foreign value under %s, that could have more: %s', (text, isSharing) => {
  const policy = policyOf(text);
  let poisoned: Charge;
  let healthy: Charge;

  const chargeAnew = (): Charge => {
    const charge = chargeOf(policy, newSubject());
    // Keys are looked at, so the value has that of the counter.
    return isSharing ? { ...charge, shared: { key: charge.key, field: FIELD } } : charge;
  };

  beforeEach(async () => {
    poisoned = chargeAnew();
    healthy = chargeOf(policy, newSubject());
    await ask('consume', healthy);
  });

  it.each(foreign)('counts as absent and is written over: %s', async (_what, put) => {
    await put(poisoned.key);

    const decisions = await ask('consume', poisoned, healthy);

    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 8]);
    expect(await redis.type(poisoned.key)).toBe('string');
    expect(await redis.pttl(poisoned.key)).toBeGreaterThan(0);
    expect((await ask('consume', poisoned))[0]).toMatchObject({ remaining: 8 });
  });

  it.each(foreign)('does not stay when it is refused: %s', async (_what, put) => {
    await put(poisoned.key);

    const decisions = await ask('consume', healthy, { ...poisoned, cost: 11 });

    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 10]);
    expect(await redis.exists(poisoned.key)).toBe(0);
  });

  it.each(foreign)('is left alone by a peek: %s', async (_what, put) => {
    await put(poisoned.key);
    const before = await redis.dumpBuffer(poisoned.key);

    const decisions = await ask('peek', poisoned, healthy);

    expect(decisions.map(({ remaining }) => remaining)).toEqual([10, 9]);
    expect(await redis.dumpBuffer(poisoned.key)).toEqual(before);
  });

  it.each<[verb: Verb, remaining: number]>([
    ['charge', 9],
    ['refund', 10],
    ['block', 0],
    ['unblock', 10],
    ['reset', 10],
  ])('survives no %s', async (verb, remaining) => {
    await redis.hset(poisoned.key, 'tokens', '3');

    expect((await ask(verb, poisoned))[0]).toMatchObject({ remaining });
    expect(await redis.type(poisoned.key)).not.toBe('hash');
    expect(await redis.pttl(poisoned.key)).not.toBe(-1);
  });

  // Whatever length a counter says that nobody knows, what is counted behind it is found again.
  it('of one counter of any length admits no more than the limit', async () => {
    const ends = Buffer.alloc(6);
    ends.writeUIntLE(START + 1_000_000, 0, 6);
    const admitted = await Promise.all(
      Array.from({ length: 256 }, async (_, length) => {
        const charge = chargeAnew();
        await redis.set(charge.key, Buffer.from([1, 2, 3, 4, length, ...ends, 1, 2, 3]));
        const decisions = [];
        for (let n = 0; n < 12; n++) decisions.push((await ask('consume', charge))[0]!);
        const size = await redis.strlen(charge.key);
        return { count: decisions.filter(({ allowed }) => allowed).length, isSmall: size < 200 };
      }),
    );

    expect(admitted).toEqual(admitted.map(() => ({ count: 10, isSmall: true })));
  });

  it(`of random bytes breaks nothing, over ${RUNS} values`, async () => {
    const property = fc.asyncProperty(bytes(), fc.nat(12), holds);

    expect(await fc.check(property, { numRuns: RUNS })).toMatchObject({ failed: false });
  });

  it(`made of a true one, cut and changed, breaks nothing, over ${RUNS} values`, async () => {
    const source = chargeAnew();
    for (const cost of [1, 2, 1, 3]) {
      await ask('charge', ...beside(source), { ...source, cost });
      clock.advance(7);
    }
    await ask('block', { ...source, cost: 1 });
    clock.advance(1);
    const state = (await redis.getBuffer(source.key))!;

    const property = fc.asyncProperty(changed(state), fc.nat(12), holds);

    expect(await fc.check(property, { numRuns: RUNS })).toMatchObject({ failed: false });
  });

  /** Whatever is stored: an answer in whole numbers, a healthy neighbour, and no key for ever. */
  async function holds(value: Buffer, cost: number): Promise<void> {
    const [one, other] = [chargeAnew(), chargeOf(policy, newSubject())];
    const neighbours = beside(one).map((each) => ({ ...each, isShadow: true }));
    await redis.set(one.key, value);

    const decisions = await ask('consume', { ...one, cost, isShadow: true }, ...neighbours, other);
    const [broken, sound] = [decisions[0], decisions.at(-1)];

    expect(sound).toMatchObject({ allowed: true, remaining: 9 });
    expect(broken!.remaining).toBeGreaterThanOrEqual(0);
    expect(broken!.remaining).toBeLessThanOrEqual(10);
    expect(broken!.retryAfterMs).toBeGreaterThanOrEqual(0);
    expect(broken!.resetAfterMs).toBeGreaterThanOrEqual(0);
    expect(await redis.pttl(one.key)).not.toBe(-1);

    await ask('reset', one, ...neighbours);
    expect((await ask('consume', one, ...neighbours))[0]).toMatchObject({
      allowed: true,
      remaining: 9,
    });
  }
});

// User report 2 of the data kind: one poisoned key must not fail the tiers beside it.
it('keeps the other tiers of a call exact', async () => {
  const texts: PolicyText[] = ['fixed-window:10/1h', 'token-bucket:10/1h', 'gcra:10/1h,burst=10'];
  const [first, second, third] = texts.map((text) => chargeOf(policyOf(text), newSubject()));
  await redis.hset(second!.key, 'a', 'b');

  const decisions = await ask('consume', first!, { ...second!, cost: 11 }, third!);

  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true]);
  expect((await ask('peek', first!, second!, third!)).map((each) => each.remaining)).toEqual([
    10, 10, 10,
  ]);
});

/** Other counters of the same value. */
function beside({ shared }: Charge): Charge[] {
  if (shared === undefined) return [];
  return [1, 2].map((field) => {
    const policy = policyOf('gcra:10/1h,burst=10', `neighbour ${field}`);
    return { ...chargeOf(policy, newSubject()), shared: { key: shared.key, field } };
  });
}

function bytes(): fc.Arbitrary<Buffer> {
  const raw = fc.uint8Array({ maxLength: 40 });
  // Digits, signs and spaces in any order come nearer to what is read.
  const near = fc.string({ unit: fc.constantFrom(...'0123456789 -!.e'.split('')), maxLength: 60 });
  const numbers = fc.array(fc.oneof(fc.maxSafeNat(), fc.nat(20), fc.constant(START)), {
    maxLength: 5,
  });
  return fc.oneof(
    raw.map((array) => Buffer.from(array)),
    near.map((text) => Buffer.from(text)),
    numbers.map((list) => Buffer.from(list.join(' '))),
    // The head of a log, then anything.
    fc.tuple(fc.integer({ min: 1, max: 6 }), raw).map(([width, array]) => {
      return Buffer.concat([Buffer.from(String(width)), Buffer.from(array)]);
    }),
  );
}

function changed(state: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.nat(state.length - 1);
  const cut = fc.nat(state.length).map((length) => state.subarray(0, length));
  const flipped = fc.tuple(place, fc.nat(255)).map(([index, byte]) => {
    const copy = Buffer.from(state);
    copy[index] = byte;
    return copy;
  });
  const doubled = fc.constant(Buffer.concat([state, state]));
  return fc.oneof(cut, flipped, doubled);
}
