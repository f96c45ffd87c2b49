import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { connect } from '../redis-client.mjs';
import { LIMIT } from '../settings.mjs';

/** The storage alone, asked for one throttler after the other, as ThrottlerGuard does. */
export function throttler(tiers, client, { limit = LIMIT } = {}) {
  let redis;
  let storage;
  return {
    name: '@nestjs/throttler',
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      storage = new ThrottlerStorageRedisService(redis);
    },
    async decide(key) {
      for (const { name, windowMs } of tiers) {
        const { isBlocked } = await storage.increment(key, windowMs, limit, windowMs, name);
        if (isBlocked) return false;
      }
      return true;
    },
    tearDown: () => redis.disconnect(),
  };
}
