import { PROBLEM_CONTENT_TYPE, problemBody } from '../../src/http/problem.js';
import type { Refusal } from '../../src/http/problem.js';
import { reportedTier } from './reported-tier.fixture.js';

const refusing = { allowed: false, limit: 60, remaining: 0, retryAfterMs: 11_200 };

describe('problemBody', () => {
  it('tells which quota is exceeded and when to come back', () => {
    const body = problemBody({
      status: 429,
      violated: [reportedTier(refusing)],
      retryAfterMs: 11_200,
    });

    expect(body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail:
        "Rate limit exceeded: tier 'plan' allows 60 requests per 1m. Try again in 12 seconds.",
      'violated-policies': ['plan'],
      retryAfterMs: 11_200,
      statusCode: 429,
      message:
        "Rate limit exceeded: tier 'plan' allows 60 requests per 1m. Try again in 12 seconds.",
    });
  });

  it('tells that the limiter is away, and nothing of the tier or the store', () => {
    const body = problemBody({
      status: 503,
      violated: [reportedTier({ ...refusing, source: 'closed' })],
      retryAfterMs: 1_000,
    });

    expect(body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
      detail: 'The rate limiter is temporarily unavailable. Try again in 1 second.',
      'violated-policies': ['plan'],
      retryAfterMs: 1_000,
      statusCode: 503,
      message: 'The rate limiter is temporarily unavailable. Try again in 1 second.',
    });
  });

  describe('says in its detail', () => {
    it.each<[idea: string, refusal: Refusal, detail: string]>([
      [
        'every tier that refuses',
        {
          status: 429,
          violated: [
            reportedTier({ ...refusing, name: 'burst', limit: 1, windowMs: 500 }),
            reportedTier({ ...refusing, windowMs: 5_400_000 }),
          ],
          retryAfterMs: 1,
        },
        "Rate limit exceeded: tier 'burst' allows 1 request per 500ms and " +
          "tier 'plan' allows 60 requests per 90m. Try again in 1 second.",
      ],
      [
        'what the request costs',
        { status: 429, violated: [reportedTier({ ...refusing, cost: 5 })], retryAfterMs: 2_000 },
        "Rate limit exceeded: tier 'plan' allows 60 units per 1m and this request costs 5. " +
          'Try again in 2 seconds.',
      ],
      [
        'that no wait helps',
        {
          status: 429,
          violated: [reportedTier({ ...refusing, cost: 61, retryAfterMs: Infinity })],
          retryAfterMs: Infinity,
        },
        "Rate limit exceeded: tier 'plan' allows 60 units per 1m and this request costs 61. " +
          'Trying the same request again will not help.',
      ],
      [
        'no numbers of a tier that counted nothing',
        {
          status: 429,
          violated: [reportedTier({ ...refusing, source: 'closed' })],
          retryAfterMs: 1_000,
        },
        'Rate limit exceeded. Try again in 1 second.',
      ],
      [
        'something without a tier too',
        { status: 429, violated: [], retryAfterMs: 0 },
        'Rate limit exceeded. Try again in 1 second.',
      ],
    ])('%s', (_idea, refusal, detail) => {
      expect(problemBody(refusal)).toMatchObject({ detail, message: detail });
    });
  });

  it.each<[retryAfterMs: number, told: number | undefined]>([
    [1_000.2, 1_001],
    [-1, 0],
    [Infinity, undefined],
  ])('tells a wait of %p ms as %p', (retryAfterMs, told) => {
    const body = problemBody({ status: 429, violated: [], retryAfterMs });

    expect(body.retryAfterMs).toBe(told);
    expect('retryAfterMs' in body).toBe(told !== undefined);
  });

  it('is problem details', () => {
    expect(PROBLEM_CONTENT_TYPE).toBe('application/problem+json');
  });
});
