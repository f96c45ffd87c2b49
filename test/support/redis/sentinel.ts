import { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { startReplica } from './replica.js';
import { RedisServer } from './server.js';

const SENTINELS = 3;
const QUORUM = 2;

export interface RedisSentinels {
  /** The name under which the sentinels know the master. */
  readonly name: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinels: readonly RedisServer[];
  readonly stop: () => Promise<void>;
}

/** One master, one replica, three sentinels that have found each other, which takes two seconds. */
export async function startSentinel(): Promise<RedisSentinels> {
  const name = 'primary';
  const master = await RedisServer.start();
  const replica = await startReplica(master);
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () => watchMaster(name, master)),
  );
  await Promise.all(sentinels.map((sentinel) => untilComplete(sentinel, name)));

  return {
    name,
    master,
    replica,
    sentinels,
    stop: async () => {
      await Promise.all([...sentinels, replica, master].map((server) => server.stop()));
    },
  };
}

function watchMaster(name: string, { host, port }: RedisServer): Promise<RedisServer> {
  return RedisServer.start({
    config: [
      `sentinel monitor ${name} ${host} ${port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 5000`,
      '',
    ].join('\n'),
    args: ['--sentinel'],
  });
}

async function untilComplete(sentinel: RedisServer, name: string): Promise<void> {
  const client = new Redis(sentinel.url, { enableReadyCheck: false });
  await eventually(`sentinel ${sentinel.port} knows the others`, async () => {
    const [replicas, others] = await Promise.all([
      client.call('SENTINEL', 'REPLICAS', name),
      client.call('SENTINEL', 'SENTINELS', name),
    ]);
    return length(replicas) === 1 && length(others) === SENTINELS - 1;
  });
  client.disconnect();
}

function length(reply: unknown): number {
  return Array.isArray(reply) ? reply.length : 0;
}
