import { RedisStore } from 'rate-limit-redis';
import { connect } from '../redis-client.mjs';
import { LIMIT } from '../settings.mjs';

/**
 * The store alone. Middlewares would ask for one tier after the other; here all are asked at the
 * same time, which is the better for it.
 */
export function rateLimitRedis(tiers, client, { limit = LIMIT } = {}) {
  let redis;
  let stores;
  return {
    name: 'rate-limit-redis',
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      const sendCommand = (command, ...args) => redis.call(command, ...args);
      stores = tiers.map(({ name }) => new RedisStore({ prefix: `rlr:${name}:`, sendCommand }));
      await Promise.all(stores.map((store, index) => store.init(tiers[index])));
    },
    async decide(key) {
      if (stores.length === 1) return (await stores[0].increment(key)).totalHits <= limit;
      const results = await Promise.all(stores.map((store) => store.increment(key)));
      return results.every(({ totalHits }) => totalHits <= limit);
    },
    tearDown: () => redis.disconnect(),
  };
}
