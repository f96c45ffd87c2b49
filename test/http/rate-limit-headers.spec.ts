import * as fc from 'fast-check';
import { conflictingFamilies, rateLimitHeaders } from '../../src/http/rate-limit-headers.js';
import type { HeaderClock, HeaderFamily, HttpHeader } from '../../src/http/rate-limit-headers.js';
import type { ReportedTier } from '../../src/http/reported-tier.js';
import { reportedTier } from './reported-tier.fixture.js';

const CLOCK: HeaderClock = { nowMs: 1_764_510_693_000, reset: 'epoch' };
const FAMILIES: HeaderFamily[] = ['x-ratelimit', 'draft-6', 'draft-7', 'draft-8'];

describe('rateLimitHeaders', () => {
  describe('writes each family as documented', () => {
    const burst = reportedTier({ name: 'burst', remaining: 12, resetAfterMs: 7_000 });
    const daily = reportedTier({
      name: 'daily',
      windowMs: 86_400_000,
      limit: 1000,
      remaining: 940,
      resetAfterMs: 3_600_000,
    });

    it.each<[family: HeaderFamily, tiers: ReportedTier[], headers: HttpHeader[]]>([
      [
        'x-ratelimit',
        [reportedTier()],
        [
          ['X-RateLimit-Limit', '100'],
          ['X-RateLimit-Remaining', '50'],
          ['X-RateLimit-Reset', '1764510743'],
        ],
      ],
      [
        'draft-6',
        [reportedTier()],
        [
          ['RateLimit-Limit', '100'],
          ['RateLimit-Remaining', '50'],
          ['RateLimit-Reset', '50'],
          ['RateLimit-Policy', '100;w=60'],
        ],
      ],
      [
        'draft-7',
        [reportedTier({ resetAfterMs: 5_000 })],
        [
          ['RateLimit', 'limit=100, remaining=50, reset=5'],
          ['RateLimit-Policy', '100;w=60'],
        ],
      ],
      [
        'draft-8',
        [burst, daily],
        [
          ['RateLimit', '"burst";r=12;t=7, "daily";r=940;t=3600'],
          ['RateLimit-Policy', '"burst";q=100;w=60, "daily";q=1000;w=86400'],
        ],
      ],
    ])('%s', (family, tiers, headers) => {
      expect(rateLimitHeaders([family], tiers, CLOCK)).toEqual(headers);
    });
  });

  describe('lets single-valued families describe the tightest tier', () => {
    const refusing = { allowed: false, remaining: 3, resetAfterMs: 60_000 };

    it.each<[idea: string, tiers: ReportedTier[], draft7: string]>([
      [
        'the smallest remaining',
        [
          reportedTier({ remaining: 9 }),
          reportedTier({ limit: 10, remaining: 8 }),
          reportedTier({ remaining: 20 }),
        ],
        'limit=10, remaining=8, reset=50',
      ],
      [
        'of equals the longest reset',
        [
          reportedTier({ resetAfterMs: 1_000 }),
          reportedTier({ resetAfterMs: 3_000 }),
          reportedTier({ resetAfterMs: 2_000 }),
        ],
        'limit=100, remaining=50, reset=3',
      ],
      [
        'a refusing tier before one with less left',
        [reportedTier({ remaining: 0 }), reportedTier({ ...refusing, retryAfterMs: 1_000 })],
        'limit=100, remaining=3, reset=1',
      ],
      [
        'a refusing tier that comes first',
        [reportedTier({ ...refusing, retryAfterMs: 1_000 }), reportedTier({ remaining: 0 })],
        'limit=100, remaining=3, reset=1',
      ],
      [
        'of refusing tiers the longest wait',
        [
          reportedTier({ ...refusing, retryAfterMs: 1_000 }),
          reportedTier({ ...refusing, retryAfterMs: 9_000 }),
          reportedTier({ ...refusing, retryAfterMs: 2_000, remaining: 0 }),
        ],
        'limit=100, remaining=3, reset=9',
      ],
      [
        'for ever is the longest wait',
        [
          reportedTier({ ...refusing, retryAfterMs: 1_000 }),
          reportedTier({ ...refusing, retryAfterMs: Infinity, limit: 5 }),
        ],
        'limit=5, remaining=3, reset=60',
      ],
    ])('%s', (_idea, tiers, draft7) => {
      expect(valueOf('RateLimit', rateLimitHeaders(['draft-7'], tiers, CLOCK))).toBe(draft7);
    });
  });

  describe('counts the reset in whole seconds, rounded up', () => {
    it.each<[idea: string, facts: Parameters<typeof reportedTier>[0], seconds: string]>([
      ['to a full quota when admitted', { resetAfterMs: 7_000 }, '7'],
      ['rounded up', { resetAfterMs: 7_001 }, '8'],
      ['rounded up from a millisecond', { resetAfterMs: 1 }, '1'],
      ['full already', { resetAfterMs: 0 }, '0'],
      ['to the retry when refused', { allowed: false, retryAfterMs: 1_200 }, '2'],
      ['to a full quota when no wait helps', { allowed: false, retryAfterMs: Infinity }, '50'],
      ['no retry of an admitted request', { retryAfterMs: 9_000 }, '50'],
    ])('%s', (_idea, facts, seconds) => {
      const headers = rateLimitHeaders(FAMILIES, [reportedTier(facts)], {
        ...CLOCK,
        reset: 'delta',
      });
      const draft8 = rateLimitHeaders(['draft-8'], [reportedTier(facts)], CLOCK);

      expect(valueOf('X-RateLimit-Reset', headers)).toBe(seconds);
      expect(valueOf('RateLimit-Reset', headers)).toBe(seconds);
      expect(valueOf('RateLimit', headers)).toMatch(new RegExp(`reset=${seconds}$`));
      expect(valueOf('RateLimit', draft8)).toMatch(new RegExp(`t=${seconds}$`));
    });

    it('SEC-64: rounds the moment up, not the wait, when it is told as a time of day', () => {
      const tier = reportedTier({ resetAfterMs: 1_200 });
      const reset = (nowMs: number) =>
        valueOf(
          'X-RateLimit-Reset',
          rateLimitHeaders(['x-ratelimit'], [tier], { nowMs, reset: 'epoch' }),
        );

      expect(reset(1_000_000)).toBe('1002');
      expect(reset(1_000_800)).toBe('1002');
      expect(reset(1_000_801)).toBe('1003');
    });

    it.each<[windowMs: number, seconds: number]>([
      [0, 1],
      [1, 1],
      [500, 1],
      [1_000, 1],
      [1_001, 2],
      [86_400_000, 86_400],
    ])('says that a window of %i ms has %i', (windowMs, seconds) => {
      const tiers = [reportedTier({ windowMs })];

      const policies = (['draft-6', 'draft-7', 'draft-8'] as const).map((family) =>
        valueOf('RateLimit-Policy', rateLimitHeaders([family], tiers, CLOCK)),
      );

      expect(policies).toEqual([
        `100;w=${seconds}`,
        `100;w=${seconds}`,
        `"plan";q=100;w=${seconds}`,
      ]);
    });
  });

  describe('invents no numbers', () => {
    it.each(['open', 'closed'])('leaves out a tier that failed %s', (source) => {
      const failed = reportedTier({
        name: 'failed',
        allowed: false,
        limit: 1,
        remaining: 0,
        source,
      });
      const counted = reportedTier({ name: 'counted' });

      const headers = rateLimitHeaders(['x-ratelimit', 'draft-8'], [failed, counted], CLOCK);

      expect(headers).toEqual([
        ['X-RateLimit-Limit', '100'],
        ['X-RateLimit-Remaining', '50'],
        ['X-RateLimit-Reset', '1764510743'],
        ['RateLimit', '"counted";r=50;t=50'],
        ['RateLimit-Policy', '"counted";q=100;w=60'],
      ]);
    });

    it.each(['redis', 'memory', 'denied-cache', 'fallback'])('tells what %s counted', (source) => {
      expect(rateLimitHeaders(FAMILIES, [reportedTier({ source })], CLOCK)).not.toEqual([]);
    });

    it('has no headers without a counted tier', () => {
      const failed = [reportedTier({ source: 'open' }), reportedTier({ source: 'closed' })];

      expect(rateLimitHeaders(FAMILIES, failed, CLOCK)).toEqual([]);
      expect(rateLimitHeaders(FAMILIES, [], CLOCK)).toEqual([]);
    });

    it('has no headers without a family', () => {
      expect(rateLimitHeaders([], [reportedTier()], CLOCK)).toEqual([]);
    });

    it('never tells a negative remaining', () => {
      const overdrawn = reportedTier({ remaining: -5 });

      const headers = rateLimitHeaders(['x-ratelimit'], [overdrawn], CLOCK);

      expect(valueOf('X-RateLimit-Remaining', headers)).toBe('0');
    });
  });

  it('SEC-59: escapes the names of tiers', () => {
    const tiers = [reportedTier({ name: 'a"b\\c, d' })];

    expect(valueOf('RateLimit', rateLimitHeaders(['draft-8'], tiers, CLOCK))).toBe(
      String.raw`"a\"b\\c, d";r=50;t=50`,
    );
  });

  it('writes a name that families share once, as the first of them has it', () => {
    const draft6And7 = rateLimitHeaders(['draft-6', 'draft-7'], [reportedTier()], CLOCK);
    const draft8And7 = rateLimitHeaders(['draft-8', 'draft-7'], [reportedTier()], CLOCK);

    expect(draft6And7.map(([name]) => name)).toEqual([
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'RateLimit-Policy',
      'RateLimit',
    ]);
    expect(draft8And7).toEqual(rateLimitHeaders(['draft-8'], [reportedTier()], CLOCK));
  });

  it('writes only visible ASCII and whole seconds that are never too early', () => {
    fc.assert(
      fc.property(
        fc.subarray(FAMILIES),
        fc.array(anyTier(), { maxLength: 4 }),
        fc.record({ nowMs: fc.nat(2 ** 42), reset: fc.constantFrom('epoch', 'delta') }),
        (families, tiers, clock) => {
          const headers = rateLimitHeaders(families, tiers, clock);

          for (const [name, value] of headers) {
            expect(name).toMatch(/^[A-Za-z-]+$/);
            expect(value).toMatch(/^[\x20-\x7e]+$/);
          }
          expect(new Set(headers.map(([name]) => name)).size).toBe(headers.length);
        },
      ),
    );
  });

  it('tells seconds that are whole and at most one later than the milliseconds', () => {
    fc.assert(
      fc.property(anyTier(), fc.nat(2 ** 42), (tier, nowMs) => {
        fc.pre(tier.decision.source !== 'open' && tier.decision.source !== 'closed');
        const { allowed, retryAfterMs, resetAfterMs } = tier.decision;
        const ms = allowed || retryAfterMs === Infinity ? resetAfterMs : retryAfterMs;

        const headers = rateLimitHeaders(['x-ratelimit', 'draft-6'], [tier], {
          nowMs,
          reset: 'epoch',
        });

        expect(isRoundedUp(valueOf('RateLimit-Reset', headers), ms)).toBe(true);
        expect(isRoundedUp(valueOf('X-RateLimit-Reset', headers), nowMs + ms)).toBe(true);
      }),
    );
  });
});

describe('conflictingFamilies', () => {
  it.each<[families: HeaderFamily[], conflict: HeaderFamily[] | undefined]>([
    [[], undefined],
    [['x-ratelimit', 'draft-6', 'draft-7'], undefined],
    [['x-ratelimit', 'draft-8'], undefined],
    [
      ['draft-6', 'draft-8'],
      ['draft-6', 'draft-8'],
    ],
    [
      ['draft-8', 'draft-7'],
      ['draft-7', 'draft-8'],
    ],
  ])('of %j is %j', (families, conflict) => {
    expect(conflictingFamilies(families)).toEqual(conflict);
  });

  it('is found exactly where families write different values under one name', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(FAMILIES), (families) => {
        const each = families.flatMap((family) =>
          rateLimitHeaders([family], [reportedTier()], CLOCK),
        );
        const differs = each.some(([name, value]) => valueOf(name, each) !== value);

        expect(conflictingFamilies(families) !== undefined).toBe(differs);
      }),
    );
  });
});

function anyTier() {
  const ms = fc.oneof(fc.nat(100_000), fc.nat(2 ** 40));
  return fc
    .record({
      name: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('a"b;x=\r\n')),
      windowMs: fc.integer({ min: 1, max: 2 ** 40 }),
      cost: fc.nat(1000),
      allowed: fc.boolean(),
      limit: fc.maxSafeNat(),
      remaining: fc.maxSafeInteger(),
      retryAfterMs: fc.oneof(ms, fc.constant(Infinity)),
      resetAfterMs: ms,
      source: fc.constantFrom('redis', 'memory', 'open', 'closed'),
    })
    .map(reportedTier);
}

function valueOf(name: string, headers: readonly HttpHeader[]): string | undefined {
  return headers.find(([other]) => other === name)?.[1];
}

/** Whether a header value is whole seconds that end less than one after `ms`, never before. */
function isRoundedUp(seconds: string | undefined, ms: number): boolean {
  const late = Number(seconds) * 1000 - ms;
  return /^[0-9]+$/.test(seconds ?? '') && late >= 0 && late < 1000;
}
