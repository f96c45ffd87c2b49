import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { fromNodeRedis, scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { RedisServer } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';
import { describeConformance } from './store-conformance.js';

interface Connected {
  readonly client: unknown;
  readonly disconnect: () => unknown;
}

type Connect = (url: string) => Connected | Promise<Connected>;

describe.each<[name: string, connect: Connect]>([
  ['ioredis 6', (url) => borrowed(new Redis(url))],
  ['ioredis 6, pipelining', (url) => borrowed(new Redis(url, { enableAutoPipelining: true }))],
  ['ioredis 5', (url) => borrowed(new Redis5(url))],
  ['iovalkey', (url) => borrowed(new Valkey(url))],
  ['node-redis', nodeRedis],
])('RedisStore on %s', (_name, connect) => {
  describeConformance(async (clock) => {
    const server = await RedisServer.start();
    const { client, disconnect } = await connect(server.url);
    const runner = atTime(scriptRunnerFor(client, 'redis'), () => clock.now());
    return {
      store: new RedisStore(runner),
      close: async () => {
        await disconnect();
        await server.stop();
      },
    };
  });
});

function borrowed(client: { disconnect(): void }): Connected {
  return { client, disconnect: () => client.disconnect() };
}

async function nodeRedis(url: string): Promise<Connected> {
  const client = createClient({ url });
  await client.connect();
  return { client: fromNodeRedis(client), disconnect: () => client.destroy() };
}
