import { RateLimitConfigurationError, mismatch } from '../../policies/configuration-error.js';

/** A script and its SHA-1, by which Redis knows it once it has seen it. */
export interface Script {
  readonly sha: string;
  readonly lua: string;
}

/** All that the store asks of a client. Give one of these to use a client of another shape. */
export interface ScriptRunner {
  /** True for a cluster, whose scripts may only touch keys of one slot. Default false. */
  readonly isCluster?: boolean;
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/** ioredis 5 and 6, iovalkey; their single connections and their clusters. */
export interface EvalNumkeysClient {
  readonly isCluster?: boolean;
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  evalsha(sha: string, numkeys: number, ...args: string[]): Promise<unknown>;
}

/** node-redis: its clients and its clusters. */
export interface EvalObjectClient {
  eval(script: string, options?: { keys?: string[]; arguments?: string[] }): Promise<unknown>;
  evalSha(sha: string, options?: { keys?: string[]; arguments?: string[] }): Promise<unknown>;
}

/**
 * Lets a connected node-redis client run the limiter: `redis: fromNodeRedis(client)`. The client
 * stays the app's: it opens and closes it.
 */
export function fromNodeRedis(client: EvalObjectClient): ScriptRunner {
  return {
    // What only its clusters have.
    isCluster: 'masters' in client,
    run: (script, keys, args) => {
      const options = { keys: [...keys], arguments: [...args] };
      return orLoad(
        () => client.evalSha(script.sha, options),
        () => client.eval(script.lua, options),
      );
    },
  };
}

function fromEvalNumkeys(client: EvalNumkeysClient): ScriptRunner {
  return {
    isCluster: client.isCluster === true,
    run: (script, keys, args) =>
      orLoad(
        () => client.evalsha(script.sha, keys.length, ...keys, ...args),
        () => client.eval(script.lua, keys.length, ...keys, ...args),
      ),
  };
}

/**
 * The runner for whatever the app calls its Redis client, told by its shape: `instanceof` fails
 * between two copies of a package, and silently connecting elsewhere would be worse.
 */
export function scriptRunnerFor(client: unknown, option: string): ScriptRunner {
  if (has<ScriptRunner>(client, 'run')) return client;
  if (has<EvalNumkeysClient>(client, 'eval', 'evalsha')) return fromEvalNumkeys(client);
  const hint = has<EvalObjectClient>(client, 'evalSha')
    ? '; wrap a node-redis client: fromNodeRedis(client)'
    : '';
  const expected = 'a client with eval and evalsha, or a ScriptRunner';
  throw new RateLimitConfigurationError(option, `${mismatch(client, expected)}${hint}`);
}

/** Whether it is a client already, rather than options to make one. */
export function isRedisClient(value: unknown): boolean {
  return (
    has<ScriptRunner>(value, 'run') ||
    has<EvalNumkeysClient>(value, 'eval') ||
    has<EvalObjectClient>(value, 'evalSha')
  );
}

function has<T extends object>(
  value: unknown,
  ...methods: readonly (keyof T & string)[]
): value is T {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** A server that has not seen the script (new, restarted, flushed, failed over) is sent it once. */
async function orLoad(
  byName: () => Promise<unknown>,
  inFull: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await byName();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return inFull();
    throw error;
  }
}
