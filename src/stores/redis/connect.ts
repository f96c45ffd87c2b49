import { RateLimitConfigurationError, mismatch } from '../../policies/configuration-error.js';

/** What the module needs of a connection that it opened itself. */
export interface OwnedClient {
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'ready', listener: () => void): unknown;
  off(event: 'ready', listener: () => void): unknown;
  disconnect(): void;
}

/**
 * Nothing may wait in a queue, be sent again or be retried behind our back: a late charge is a
 * wrong charge. (`autoResendUnfulfilledCommands: false` alone would leave promises pending for
 * ever; `maxRetriesPerRequest: 0` settles them.)
 */
const STRICT = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Decisions travel in batches already; pipelining would only hold each back for a turn.
  enableAutoPipelining: false,
} as const;

/** What an app may set otherwise. */
const DEFAULTS = {
  connectTimeout: 2_000,
  // How long a closed connection may keep the process alive.
  disconnectTimeout: 100,
  retryStrategy: backoffMs,
} as const;

/** Full jitter up to a cap of 2 s, so that many processes do not come back at once. */
function backoffMs(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(2_000, 50 * 2 ** Math.min(attempt, 6)));
}

/** Opens a dedicated ioredis connection for a URL, connection options or a cluster. */
export async function connect(source: unknown, option: string): Promise<OwnedClient> {
  const { Redis, Cluster } = await loadIoredis(option);
  if (typeof source === 'string') {
    return new Redis(checkUrl(source, option), { ...DEFAULTS, ...STRICT });
  }
  if (!isPlainObject(source)) {
    throw new RateLimitConfigurationError(
      option,
      mismatch(source, 'a Redis URL, connection options, a cluster or a client'),
    );
  }
  if ('cluster' in source) {
    if (!Array.isArray(source['cluster']) || source['cluster'].length === 0) {
      const expected = 'an array of one node or more';
      throw new RateLimitConfigurationError(
        `${option}.cluster`,
        mismatch(source['cluster'], expected),
      );
    }
    const { cluster, options } = source as { cluster: []; options?: { redisOptions?: object } };
    return new Cluster(cluster, {
      clusterRetryStrategy: backoffMs,
      ...options,
      enableOfflineQueue: false,
      enableAutoPipelining: false,
      redisOptions: { ...DEFAULTS, ...options?.redisOptions, ...STRICT },
    });
  }
  return new Redis({ ...DEFAULTS, ...source, ...STRICT });
}

/** Resolves when the connection can be used, or after `timeoutMs`: then the app boots without it. */
export function untilReady(client: OwnedClient, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const onReady = (): void => settle(true);
    const timer = setTimeout(() => settle(false), timeoutMs);
    function settle(isReady: boolean): void {
      clearTimeout(timer);
      client.off('ready', onReady);
      resolve(isReady);
    }
    client.once('ready', onReady);
  });
}

async function loadIoredis(
  option: string,
): Promise<Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>> {
  try {
    const { Redis, Cluster } = await import('ioredis');
    return { Redis, Cluster };
  } catch (error) {
    throw new RateLimitConfigurationError(
      option,
      'needs the package ioredis to connect; run npm install ioredis, or pass a client of your own',
      { cause: error },
    );
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A URL may hold a password, so no message repeats it. */
function checkUrl(url: string, option: string): string {
  if (URL.canParse(url) && ['redis:', 'rediss:'].includes(new URL(url).protocol)) return url;
  throw new RateLimitConfigurationError(
    option,
    "received text that is no Redis URL, expected 'redis://host:port' or 'rediss://host:port'",
  );
}
