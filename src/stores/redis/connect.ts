import { RateLimitConfigurationError, mismatch } from '../../policies/configuration-error.js';
import { clusterSettings, connectionSettings } from './safe-settings.js';

/** What the module needs of a connection that it opened itself. */
export interface OwnedClient {
  readonly options: object;
  /** `'ready'` when it can be used. */
  readonly status: string;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'ready', listener: () => void): unknown;
  once(event: 'ready', listener: () => void): unknown;
  off(event: 'ready', listener: () => void): unknown;
  disconnect(): void;
}

/**
 * Opens a dedicated ioredis connection for a URL, connection options or a cluster, named `option`
 * in errors. What has had no answer for five `timeoutMs`, and half a second, is opened anew.
 */
export async function connect(
  source: unknown,
  option: string,
  timeoutMs: number,
): Promise<OwnedClient> {
  const { Redis, Cluster } = await loadIoredis(option);
  if (typeof source === 'string') {
    return new Redis(checkUrl(source, option), connectionSettings({}, timeoutMs));
  }
  if (!isPlainObject(source)) {
    throw new RateLimitConfigurationError(
      option,
      mismatch(source, 'a Redis URL, connection options, a cluster or a client'),
    );
  }
  if (!('cluster' in source)) return new Redis(connectionSettings(source, timeoutMs));
  const nodes = checkNodes(source['cluster'], `${option}.cluster`);
  const given = (source['options'] ?? {}) as Readonly<Record<string, unknown>>;
  return new Cluster(nodes, clusterSettings(given, timeoutMs));
}

/** Resolves when the connection can be used, or after `timeoutMs`: then the app boots without it. */
export function untilReady(
  client: Pick<OwnedClient, 'status' | 'once' | 'off'>,
  timeoutMs: number,
): Promise<boolean> {
  if (client.status === 'ready') return Promise.resolve(true);
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

function checkNodes(nodes: unknown, option: string): [] {
  if (Array.isArray(nodes) && nodes.length > 0) return nodes as [];
  throw new RateLimitConfigurationError(option, mismatch(nodes, 'an array of one node or more'));
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
