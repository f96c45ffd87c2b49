import { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
import { connect } from '../redis-client.mjs';
import { LIMIT } from '../settings.mjs';

/** EVALSHA through ioredis's defineCommand; several tiers are asked at the same time by its Union. */
export function rateLimiterFlexible(tiers, client, { limit = LIMIT, ...options } = {}) {
  let redis;
  let limiter;
  return {
    name: 'rate-limiter-flexible',
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      const limiters = tiers.map(
        ({ name, windowMs }) =>
          new RateLimiterRedis({
            storeClient: redis,
            rejectIfRedisNotReady: true,
            keyPrefix: name,
            points: limit,
            duration: windowMs / 1_000,
            ...options,
          }),
      );
      limiter = limiters.length === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
    },
    decide: (key) => limiter.consume(key).then(() => true, isRefusal),
    tearDown: () => redis.disconnect(),
  };
}

export function rateLimiterFlexibleMemory({ name, windowMs }) {
  const options = { keyPrefix: name, points: LIMIT, duration: windowMs / 1_000 };
  const limiter = new RateLimiterMemory(options);
  return {
    name: 'rate-limiter-flexible',
    setUp: () => undefined,
    decide: (key) => limiter.consume(key).then(() => true, isRefusal),
    tearDown: () => undefined,
  };
}

/** A refusal rejects with a result, a failure with an Error. */
function isRefusal(reason) {
  if (reason instanceof Error) throw reason;
  return false;
}
