import type { RateLimitOptions } from 'nestjs-sluice';
import type { CustomerStore } from './customers/customer.store.js';

/** Requests a day. Whoever has no valid key is counted by address, as a free customer. */
const PLANS = { free: 100, pro: 1_000 } as const;

/** What holds for every route; what one route has beside it stands on its controller. */
export function rateLimits(customers: CustomerStore): RateLimitOptions {
  const { REDIS_URL, RATE_LIMIT_PREFIX, RATE_LIMIT_SECRET, RATE_LIMIT_TIMEOUT_MS } = process.env;
  return {
    // Without a URL the counters live in this process.
    redis: REDIS_URL || undefined,
    prefix: RATE_LIMIT_PREFIX || undefined,
    timeoutMs: RATE_LIMIT_TIMEOUT_MS ? Number(RATE_LIMIT_TIMEOUT_MS) : undefined,
    identity: {
      apiKey: { header: 'x-api-key', verify: (key) => customers.find(key) },
      secret: RATE_LIMIT_SECRET || 'only for development: set RATE_LIMIT_SECRET',
    },
    tiers: [
      // Before body parsing and routing, for unknown routes too.
      {
        name: 'edge',
        phase: 'edge',
        by: 'ip',
        algorithm: 'sliding-window-counter',
        limit: 1_000,
        window: '1m',
      },
      {
        name: 'plan',
        by: 'client',
        algorithm: 'token-bucket',
        limit: ({ client }) => (client.plan === 'pro' ? PLANS.pro : PLANS.free),
        window: '1d',
      },
    ],
    headers: ['x-ratelimit', 'draft-8'],
  };
}
