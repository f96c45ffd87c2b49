import type { ReportedTier } from '../../src/http/reported-tier.js';

type Facts = Partial<Omit<ReportedTier, 'decision'> & ReportedTier['decision']>;

/** A tier of 100 per minute that admits and has 50 left, unless `facts` say otherwise. */
export function reportedTier(facts: Facts = {}): ReportedTier {
  const { name = 'plan', windowMs = 60_000, cost = 1, ...decision } = facts;
  return {
    name,
    windowMs,
    cost,
    decision: {
      allowed: true,
      limit: 100,
      remaining: 50,
      retryAfterMs: 0,
      resetAfterMs: 50_000,
      source: 'redis',
      ...decision,
    },
  };
}
