import * as fc from 'fast-check';
import { overallRetryAfterMs, retryHeaders } from '../../src/http/retry-after.js';
import { reportedTier } from './reported-tier.fixture.js';

describe('retryHeaders', () => {
  it.each<[retryAfterMs: number, seconds: string, ms: string]>([
    [0, '1', '0'],
    [1, '1', '1'],
    [1_000, '1', '1000'],
    [1_001, '2', '1001'],
    [11_200, '12', '11200'],
    [11_200.5, '12', '11201'],
    [2_592_000_000, '2592000', '2592000000'],
    [-1, '1', '0'],
  ])('tells %p ms as %s s and %s ms', (retryAfterMs, seconds, ms) => {
    expect(retryHeaders(retryAfterMs)).toEqual([
      ['Retry-After', seconds],
      ['retry-after-ms', ms],
    ]);
  });

  it('has none for a request that will never pass', () => {
    expect(retryHeaders(Infinity)).toEqual([]);
  });

  it('tells whole seconds of at least 1 that are never before the milliseconds', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.maxSafeNat(), fc.double({ min: 0, max: 1e9, noNaN: true })),
        (wait) => {
          const { 'Retry-After': seconds, 'retry-after-ms': ms } = Object.fromEntries(
            retryHeaders(wait),
          );

          expect(seconds).toMatch(/^[1-9][0-9]*$/);
          expect(ms).toMatch(/^[0-9]+$/);
          expect(Number(ms)).toBeGreaterThanOrEqual(wait);
          expect(Number(seconds) * 1000).toBeGreaterThanOrEqual(Number(ms));
        },
      ),
    );
  });
});

describe('overallRetryAfterMs', () => {
  it.each([
    ['no tier', [], 0],
    ['no refusing tier', [reportedTier({ retryAfterMs: 9_000 })], 0],
    ['the longest wait', [refusing(1_000), refusing(7_000), refusing(2_000)], 7_000],
    ['only refusing tiers', [refusing(1_000), reportedTier({ retryAfterMs: 9_000 })], 1_000],
    ['for ever', [refusing(1_000), refusing(Infinity)], Infinity],
  ])('counts %s', (_idea, tiers, retryAfterMs) => {
    expect(overallRetryAfterMs(tiers)).toBe(retryAfterMs);
  });
});

function refusing(retryAfterMs: number) {
  return reportedTier({ allowed: false, retryAfterMs });
}
