import { Redis } from 'ioredis';
import { RedisServer } from './redis-server.js';

/** A Redis of the tests around this call: started before the first of them, stopped after the last. */
export function privateRedis(): { readonly client: Redis } {
  let server: RedisServer;
  let client: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    client = new Redis(server.url);
  });

  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  return {
    get client() {
      return client;
    },
  };
}
