import { once } from 'node:events';
import { Redis } from 'ioredis';

/** The settings of nestjs-sluice's own connection, so that all contenders differ in nothing else. */
export async function connect(url, { autoPipelining = false } = {}) {
  const client = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: autoPipelining,
  });
  await once(client, 'ready');
  return client;
}
