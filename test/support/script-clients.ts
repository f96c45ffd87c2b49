import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { fromNodeRedis, scriptRunnerFor } from '../../src/stores/redis/script-runner.js';

/** A client of one of the supported packages, as an app may have it. */
export interface ScriptClient {
  run(lua: string, keys?: readonly string[], args?: readonly string[]): Promise<unknown>;
  /** By its hash alone. */
  runLoaded(sha: string): Promise<unknown>;
  /** What it has told its listeners. */
  readonly errors: readonly Error[];
  close(): void;
}

export interface ScriptClientOptions {
  readonly url: string;
  readonly offlineQueue?: boolean;
}

/** It has got ready or has met its first error. */
type Open = (options: ScriptClientOptions) => Promise<ScriptClient>;

export const scriptClients: readonly (readonly [name: string, open: Open])[] = [
  ['ioredis 6', (options) => numkeys(Redis, options)],
  ['ioredis 5', (options) => numkeys(Redis5, options)],
  ['iovalkey', (options) => numkeys(Valkey, options)],
  ['node-redis', nodeRedis],
];

interface NumkeysClient {
  once(event: string, listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  eval(lua: string, numkeys: number, ...args: string[]): Promise<unknown>;
  evalsha(sha: string, numkeys: number, ...args: string[]): Promise<unknown>;
  disconnect(): void;
}

async function numkeys(
  Client: new (url: string, options: object) => NumkeysClient,
  { url, offlineQueue = true }: ScriptClientOptions,
): Promise<ScriptClient> {
  const client = new Client(url, {
    enableOfflineQueue: offlineQueue,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
    disconnectTimeout: 20,
  });
  const errors = listen(client);
  await settled(client);
  const runner = scriptRunnerFor(client, 'redis');
  return {
    run: (lua, keys = [], args = []) => runner.run(script(lua), keys, args),
    runLoaded: (sha) => client.evalsha(sha, 0),
    errors,
    close: () => client.disconnect(),
  };
}

async function nodeRedis({ url, offlineQueue = true }: ScriptClientOptions): Promise<ScriptClient> {
  const client = createClient({
    url,
    disableOfflineQueue: !offlineQueue,
    socket: { reconnectStrategy: 20 },
  });
  const errors = listen(client);
  client.connect().catch((error: Error) => errors.push(error));
  await settled(client);
  const runner = fromNodeRedis(client);
  return {
    run: (lua, keys = [], args = []) => runner.run(script(lua), keys, args),
    runLoaded: (sha) => client.evalSha(sha),
    errors,
    close: () => client.destroy(),
  };
}

function listen(client: {
  on(event: 'error', listener: (error: Error) => void): unknown;
}): Error[] {
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  return errors;
}

function settled(client: { once(event: string, listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => {
    client.once('ready', resolve);
    client.once('error', resolve);
    client.once('close', resolve);
  });
}

function script(lua: string): { lua: string; sha: string } {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
