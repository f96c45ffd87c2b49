import * as fc from 'fast-check';
import { algorithmNames } from '../../src/algorithms/registry.js';
import { RateLimitConfigurationError } from '../../src/policies/configuration-error.js';
import { MAX_WINDOW_MS, definePolicy, shareOf } from '../../src/policies/define-policy.js';
import type { Policy, PolicyOptions, PolicyText } from '../../src/policies/policy.js';

const MAX = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;

type Written = PolicyOptions | PolicyText;

function define(written: unknown): Policy {
  return definePolicy('plan', written as Written, 'tiers[0]');
}

/** The message of the error, or nothing when there was none. */
function refusal(written: unknown): string | undefined {
  try {
    define(written);
    return undefined;
  } catch (error) {
    if (error instanceof RateLimitConfigurationError) return error.message;
    throw error;
  }
}

describe('definePolicy', () => {
  it.each<[written: Written, text: string, numbers: Partial<Policy>]>([
    // Defaults of each algorithm.
    [
      { algorithm: 'fixed-window', limit: 100, window: '1m' },
      'fixed-window:100/1m',
      { limit: 100, windowMs: 60_000 },
    ],
    [{ algorithm: 'token-bucket', limit: 60, window: '1m' }, 'token-bucket:60/1m', { burst: 60 }],
    [{ algorithm: 'gcra', limit: 60, window: '1m' }, 'gcra:60/1m', { burst: 6 }],
    [{ algorithm: 'gcra', limit: 61, window: '1m' }, 'gcra:61/1m', { burst: 7 }],
    [{ algorithm: 'gcra', limit: 1, window: '1m' }, 'gcra:1/1m', { burst: 1 }],
    [
      { algorithm: 'leaky-bucket', limit: 10, window: '1s' },
      'leaky-bucket:10/1s',
      { burst: 10, maxDelayMs: 5000 },
    ],
    // What is written out prints only where it differs from the default.
    [{ algorithm: 'token-bucket', limit: 60, window: 60_000, burst: 60 }, 'token-bucket:60/1m', {}],
    ['gcra:60/1m,burst=10', 'gcra:60/1m,burst=10', { burst: 10 }],
    [
      'leaky-bucket:10/1s,burst=20,maxDelay=2s',
      'leaky-bucket:10/1s,burst=20,maxDelay=2s',
      { burst: 20, maxDelayMs: 2000 },
    ],
    ['leaky-bucket:10/1s,maxDelay=2s,burst=20', 'leaky-bucket:10/1s,burst=20,maxDelay=2s', {}],
    ['leaky-bucket:10/1s,maxDelay=0', 'leaky-bucket:10/1s,maxDelay=0', { maxDelayMs: 0 }],
    ['leaky-bucket:10/1s,maxDelay=5s', 'leaky-bucket:10/1s', { maxDelayMs: 5000 }],
    // A limit of 0 is honoured (user report 4).
    ['fixed-window:0/1m', 'fixed-window:0/1m', { limit: 0 }],
    ['token-bucket:0/1m', 'token-bucket:0/1m', { limit: 0, burst: 0, rate: 0, unit: 1 }],
    ['gcra:0/1m,burst=0', 'gcra:0/1m', { burst: 0 }],
    [{ algorithm: 'fixed-window', limit: -0, window: 1 }, 'fixed-window:0/1ms', { limit: 0 }],
    // Limit over window in lowest terms.
    ['token-bucket:60/1m', 'token-bucket:60/1m', { rate: 1, unit: 1000 }],
    ['token-bucket:7/1m', 'token-bucket:7/1m', { rate: 7, unit: 60_000 }],
    ['gcra:3000/1s', 'gcra:3000/1s', { rate: 3, unit: 1 }],
    ['gcra:48/36ms', 'gcra:48/36ms', { rate: 4, unit: 3 }],
    [`token-bucket:${MAX}/1ms`, `token-bucket:${MAX}/1ms`, { rate: MAX, unit: 1 }],
    // The longest window, the largest numbers.
    ['fixed-window:1/3650d', 'fixed-window:1/3650d', { windowMs: MAX_WINDOW_MS }],
    [`fixed-window:${MAX}/3650d`, `fixed-window:${MAX}/3650d`, { limit: MAX }],
    ['sliding-window-log:281474976710655/1m', 'sliding-window-log:281474976710655/1m', {}],
    ['sliding-window-counter:150119987579/1m', 'sliding-window-counter:150119987579/1m', {}],
    ['token-bucket:1/1m,burst=150119987579', 'token-bucket:1/1m,burst=150119987579', {}],
  ])('takes %j (SEC-40)', (written, text, numbers) => {
    expect(define(written)).toMatchObject({ name: 'plan', text, ...numbers });
  });

  const good = { algorithm: 'leaky-bucket', limit: 10, window: '1m', burst: 5, maxDelay: '2s' };
  const notAWhole: unknown[] = [
    '10',
    '',
    1.5,
    -1,
    Number.NaN,
    Infinity,
    -Infinity,
    MAX + 1,
    10n,
    null,
  ];
  const notAtAll: unknown[] = [true, [], [10], {}, () => 10, { valueOf: () => 10 }, Symbol('ten')];
  const notADuration: unknown[] = [
    ...['', '1', '1m ', ' 1m', '1 m', '1M', '1w', '-1m', '1.5m', '0m', '1m30s', 'm', '1e3s'],
    ...[-1, 1.5, Number.NaN, Infinity, MAX + 1, null, true, 1n, [], {}, () => '1m'],
  ];

  // One error, and it names the option, what was received and what is expected.
  it.each<[option: string, value: unknown, expected: RegExp]>([
    ...[undefined, ...notAWhole, ...notAtAll].map(wrong('limit', /a whole number from 0 to \d+/)),
    ...[...notAWhole, ...notAtAll]
      .filter((value) => value !== null)
      .map(wrong('burst', /a whole number from 1 to \d+/)),
    ['burst', 0, /a whole number from 1 to \d+/],
    ...[undefined, 0, ...notADuration].map(wrong('window', /a duration: whole milliseconds/)),
    ...notADuration
      .filter((value) => value !== null)
      .map(wrong('maxDelay', /a duration: whole milliseconds/)),
    ['window', '3651d', /at most 315360000000 ms/],
    ['window', MAX_WINDOW_MS + 1, /at most 315360000000 ms/],
    ['maxDelay', '3651d', /at most 315360000000 ms/],
    ...[undefined, null, '', 1, 'GCRA ', 'constructor', '__proto__', [], ['gcra']].map(
      wrong('algorithm', /one of 'fixed-window', 'sliding-window-log', .*'leaky-bucket'/),
    ),
  ])('refuses %s: %p (SEC-40)', (option, value, expected) => {
    const message = refusal({ ...good, [option]: value });

    expect(message).toMatch(
      new RegExp(`^RateLimit: tiers\\[0\\]\\.${option}: received .+, expected`),
    );
    expect(message).toMatch(expected);
  });

  // User report 39: the nearest name, where one is near.
  it.each([
    ['token-buckt', 'token-bucket'],
    ['tokenbucket', 'token-bucket'],
    ['Token-Bucket', 'token-bucket'],
    ['sliding-window', 'sliding-window-log'],
    ['gcar', 'gcra'],
    ['leaky_bucket', 'leaky-bucket'],
    ['fixed-windows', 'fixed-window'],
  ])('knows which algorithm %s is meant to be', (algorithm, meant) => {
    expect(refusal({ ...good, algorithm })).toContain(`did you mean '${meant}'?`);
  });

  it('guesses nothing for a name that is near none', () => {
    expect(refusal({ ...good, algorithm: 'something else' })).not.toContain('did you mean');
  });

  it.each<[what: string, written: unknown, message: RegExp]>([
    ['no policy', undefined, /tiers\[0\]: received undefined, expected an object/],
    ['no policy', null, /tiers\[0\]: received null, expected an object/],
    ['a number', 60, /tiers\[0\]: received 60, expected an object/],
    ['an array', ['gcra:60/1m'], /tiers\[0\]: received an array, expected an object/],
    [
      'a mistyped option',
      { ...good, windw: '1m' },
      /unknown option 'windw'; did you mean 'window'/,
    ],
    ['a foreign option', { ...good, ttl: 60 }, /unknown option 'ttl', expected one of algorithm,/],
    [
      'a burst of a window',
      { algorithm: 'fixed-window', limit: 1, window: '1m', burst: 1 },
      /tiers\[0\]\.burst: 'fixed-window' has no such parameter; it takes limit, window$/,
    ],
    [
      'a delay of a bucket that holds nobody',
      { algorithm: 'gcra', limit: 1, window: '1m', maxDelay: '1s' },
      /tiers\[0\]\.maxDelay: 'gcra' has no such parameter; it takes limit, window, burst$/,
    ],
    [
      'a burst at limit 0',
      { algorithm: 'token-bucket', limit: 0, window: '1m', burst: 1 },
      /tiers\[0\]\.burst: received 1, expected 0 or nothing when limit is 0/,
    ],
    // What cannot be counted exactly.
    ['a log that is too long', 'sliding-window-log:281474976710656/1m', /limit is over 2\^48 − 1/],
    [
      'a counter that is too large',
      'sliding-window-counter:150119987580/1m',
      /limit × window \(in ms\) is over 2\^53 − 1/,
    ],
    [
      'a bucket that is too large',
      'token-bucket:1/1m,burst=150119987580',
      /burst × 60000 .* is over 2\^53 − 1/,
    ],
    ['a bucket in no convenient terms', `gcra:${MAX}/1d,burst=${MAX}`, /is over 2\^53 − 1/],
  ])('refuses %s', (_what, written, message) => {
    expect(refusal(written)).toMatch(message);
  });

  it('takes no prototype from parsed JSON (SEC-48)', () => {
    const parsed: unknown = JSON.parse(
      '{"algorithm":"gcra","limit":1,"window":"1m","__proto__":{"burst":1}}',
    );

    expect(refusal(parsed)).toContain("unknown option '__proto__'");
  });

  it('keeps hostile values short, and objects out of its messages', () => {
    const secret = { password: 'hunter2' };

    expect(refusal({ ...good, limit: 'x'.repeat(65_536) })!.length).toBeLessThan(250);
    expect(refusal({ ...good, limit: secret })).not.toContain('hunter2');
    expect(refusal({ ...good, window: secret })).not.toContain('hunter2');
  });

  it.each([
    '',
    'gcra',
    'gcra:',
    'gcra:60',
    'gcra:60/',
    ':60/1m',
    '60/1m',
    'gcra:60/1m ',
    ' gcra:60/1m',
    'gcra: 60/1m',
    'gcra:60 /1m',
    'gcra:60/1m,',
    'gcra:60/1m,burst',
    'gcra:60/1m,burst=',
    'gcra:60/1m,burst=-1',
    'gcra:60/1m,burst=1.5',
    'gcra:60/1m,burst=1,burst=1',
    'gcra:60/1m, burst=1',
    'gcra:60/1m,Burst=1',
    'gcra:60/1m,limit=1',
    'gcra:60/1m;burst=1',
    'gcra:-60/1m',
    'gcra:6e1/1m',
    'gcra:0x10/1m',
    'gcra:60/1.5s',
    'gcra:60/60000',
    'GCRA:60/1m',
    'gcra:60/1m\n',
    'gcra:99999999999999999/1m',
    `gcra:60/1m${',burst=1'.repeat(10_000)}`,
  ])('does not read %j as the text of a policy', (text) => {
    const message = refusal(text);

    expect(message).toMatch(/^RateLimit: tiers\[0\]: received .*, expected '<algorithm>:<limit>/);
    expect(message!.length).toBeLessThan(400);
  });

  it.each<[text: string, message: RegExp]>([
    ['gcrb:60/1m', /tiers\[0\]\.algorithm: received 'gcrb', .*did you mean 'gcra'/],
    ['gcra:60/1w', /tiers\[0\]\.window: received '1w', expected a duration/],
    ['gcra:60/0m', /tiers\[0\]\.window: received '0m', expected a duration/],
    ['gcra:9007199254740992/1ms', /tiers\[0\]\.limit: received 9007199254740992, expected a whole/],
    ['gcra:60/1m,burst=5s', /tiers\[0\]\.burst: received '5s', expected a whole number/],
    ['gcra:60/1m,burst=0', /tiers\[0\]\.burst: received 0, expected a whole number from 1/],
    ['leaky-bucket:60/1m,maxDelay=5x', /tiers\[0\]\.maxDelay: received '5x', expected a duration/],
    ['fixed-window:60/1m,burst=5', /tiers\[0\]\.burst: 'fixed-window' has no such parameter/],
  ])('says what is wrong in %j', (text, message) => {
    expect(refusal(text)).toMatch(message);
  });

  // Two copies of this package tell it by its code.
  it('throws an error of a name and a code', () => {
    expect(() => define('gcra')).toThrow(
      expect.objectContaining({
        name: 'RateLimitConfigurationError',
        code: 'RATE_LIMIT_CONFIGURATION',
        option: 'tiers[0]',
      }),
    );
  });

  it('prints a policy as it reads it', () => {
    fc.assert(
      fc.property(policies(), (options) => {
        const policy = define(options);

        expect(define(policy.text)).toEqual(policy);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps limit over window in lowest terms, and every bucket within 2^53', () => {
    fc.assert(
      fc.property(policies(), (options) => {
        const { limit, windowMs, burst, rate, unit, law } = define(options);

        expect(BigInt(rate) * BigInt(windowMs)).toBe(BigInt(limit) * BigInt(unit));
        expect(greatestCommonDivisor(rate, unit)).toBe(1);
        const isBucket = law.parameters.length > 0;
        expect(Number.isSafeInteger(isBucket ? burst * unit : 0)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('shareOf', () => {
  it.each<[text: PolicyText, instances: number, share: string]>([
    ['token-bucket:600/1m', 1, 'token-bucket:600/1m'],
    ['token-bucket:600/1m', 4, 'token-bucket:150/1m'],
    ['token-bucket:10/1m', 4, 'token-bucket:2/1m'],
    ['token-bucket:3/1m', 4, 'token-bucket:1/1m'],
    ['token-bucket:0/1m', 4, 'token-bucket:0/1m'],
    ['token-bucket:600/1m,burst=30', 4, 'token-bucket:150/1m,burst=7'],
    ['token-bucket:600/1m,burst=2', 4, 'token-bucket:150/1m,burst=1'],
    ['gcra:600/1m', 4, 'gcra:150/1m'],
    ['gcra:600/1m,burst=1', 4, 'gcra:150/1m,burst=1'],
    ['fixed-window:100/1m', 3, 'fixed-window:33/1m'],
    ['sliding-window-log:100/1m', 3, 'sliding-window-log:33/1m'],
    ['sliding-window-counter:150119987579/1m', 2, 'sliding-window-counter:75059993789/1m'],
    ['leaky-bucket:100/1s,maxDelay=2s', 10, 'leaky-bucket:10/1s,maxDelay=2s'],
    ['leaky-bucket:100/1s,maxDelay=0', 10, 'leaky-bucket:10/1s,maxDelay=0'],
    // 7 does not divide it, and 86 400 000 units a token leave room for 104 249 991 tokens.
    ['token-bucket:8640000000000000/1d', 7, 'token-bucket:1234285714285714/1d,burst=208499982'],
  ])('of %s for %i instances is %s', (text, instances, share) => {
    expect(shareOf(define(text), instances)).toMatchObject({ name: 'plan', text: share });
  });

  it('is never more than its part, never nothing, and always counts exactly', () => {
    fc.assert(
      fc.property(policies(), fc.integer({ min: 1, max: 1_000_000 }), (options, instances) => {
        const policy = define(options);
        const share = shareOf(policy, instances);

        const part = Math.max(Math.floor(policy.limit / instances), policy.limit === 0 ? 0 : 1);
        expect(share.limit).toBe(part);
        expect(share.burst).toBeLessThanOrEqual(Math.max(1, policy.burst));
        expect(share).toMatchObject({
          algorithm: policy.algorithm,
          windowMs: policy.windowMs,
          maxDelayMs: policy.maxDelayMs,
        });
      }),
      { numRuns: 2000 },
    );
  });
});

/** Options that can be counted exactly, from tiny numbers to the edge of 2^53. */
function policies(): fc.Arbitrary<PolicyOptions> {
  const window = fc.oneof(
    fc.integer({ min: 1, max: 100_000 }),
    fc.constantFrom(1, 1000, 60_000, 3_600_000, DAY, 30 * DAY, MAX_WINDOW_MS),
  );
  const amount = fc.oneof(fc.nat(1000), fc.nat(2 ** 31 - 1), fc.maxSafeNat());
  const divisor = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: MAX_WINDOW_MS }));
  return fc
    .record({
      algorithm: fc.constantFrom(...algorithmNames),
      limit: fc.tuple(amount, divisor).map(([whole, by]) => Math.floor(whole / by)),
      window,
      burst: fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: undefined }),
      maxDelay: fc.option(fc.nat(100_000), { nil: undefined }),
    })
    .map(({ algorithm, limit, window: windowMs, burst, maxDelay }): PolicyOptions => {
      const isBucket = ['token-bucket', 'gcra', 'leaky-bucket'].includes(algorithm);
      const takesBurst = burst !== undefined && isBucket && limit > 0;
      const takesDelay = maxDelay !== undefined && algorithm === 'leaky-bucket';
      return {
        algorithm,
        limit,
        window: windowMs,
        ...(takesBurst && { burst }),
        ...(takesDelay && { maxDelay }),
      };
    })
    .filter((options) => refusal(options) === undefined);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

function wrong(option: string, expected: RegExp) {
  return (value: unknown): [string, unknown, RegExp] => [option, value, expected];
}
