import { Redis } from 'ioredis';
import { algorithmNames, type AlgorithmName } from '../../src/algorithms/registry.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TRACES, disagreements, type Engine } from '../support/disagreements.js';
import { RedisServer } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';

const MINUTES = 60_000;

describe.each(algorithmNames)('%s agrees with the model in every field', (name: AlgorithmName) => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url, { enableAutoPipelining: true });
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it(
    `in TypeScript, over ${TRACES} random traces`,
    async () => {
      const inMemory = (): Engine => {
        const clock = new ManualClock(0);
        const store = new MemoryStore({ clock });
        return (operation, t) => {
          clock.set(t);
          return store.decide(operation);
        };
      };

      expect(await disagreements(name, inMemory)).toEqual([]);
    },
    5 * MINUTES,
  );

  it(
    `in Lua on real Redis, over ${TRACES} random traces`,
    async () => {
      const runner = scriptRunnerFor(redis, 'redis');
      const inRedis = (): Engine => (operation, t) =>
        new RedisStore(atTime(runner, () => t)).decide(operation);

      expect(await disagreements(name, inRedis)).toEqual([]);
    },
    5 * MINUTES,
  );
});
