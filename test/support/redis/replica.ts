import { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { RedisServer, type RedisServerOptions } from './server.js';

/** A replica that has all that its master has. */
export async function startReplica(
  { host, port }: RedisServer,
  options: RedisServerOptions = {},
): Promise<RedisServer> {
  const args = ['--replicaof', `${host} ${port}`, ...(options.args ?? [])];
  const replica = await RedisServer.start({ ...options, args });
  await withClient(replica, (client) =>
    eventually(`replica ${replica.port} is in sync`, async () =>
      (await client.info('replication')).includes('master_link_status:up'),
    ),
  );
  return replica;
}

/** Makes a master of it: it takes writes from now on. */
export async function promote(replica: RedisServer): Promise<void> {
  await withClient(replica, (client) => client.replicaof('NO', 'ONE'));
}

async function withClient(
  server: RedisServer,
  use: (client: Redis) => Promise<unknown>,
): Promise<void> {
  const client = new Redis(server.url);
  try {
    await use(client);
  } finally {
    client.disconnect();
  }
}
