/**
 * Settings of ioredis, and of what is shaped like it, for a connection that only decides. Nothing may
 * wait in a queue, be sent again or be retried behind our back: a late charge is a wrong charge.
 */
const STRICT = {
  enableOfflineQueue: false,
  // Alone it would leave promises pending for ever; `maxRetriesPerRequest: 0` settles them.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // Decisions travel in batches already; pipelining would only hold each back for a turn.
  enableAutoPipelining: false,
  lazyConnect: false,
  reconnectOnError,
} as const;

/** For the whole of a cluster; `STRICT` is for each of its nodes. */
const STRICT_CLUSTER = {
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  lazyConnect: false,
  // It would send again what was under way when a node went away.
  retryDelayOnFailover: 0,
} as const;

type Settings = Readonly<Record<string, unknown>>;

/** All settings of one connection: what the app says, unless a late charge could come of it. */
export function connectionSettings(given: Settings, timeoutMs: number): Settings {
  return { ...defaults(timeoutMs), ...given, ...STRICT };
}

/** The same of a cluster. */
export function clusterSettings(given: Settings, timeoutMs: number): Settings {
  return {
    clusterRetryStrategy: backoffMs,
    // A node that restarts keeps its slots, so no redirection would ever lead back to it.
    clusterNodeRetryStrategy: backoffMs,
    // How it learns of a failover, since no command is sent again.
    slotsRefreshInterval: 2_000,
    ...given,
    ...STRICT_CLUSTER,
    redisOptions: connectionSettings((given['redisOptions'] ?? {}) as Settings, timeoutMs),
  };
}

/**
 * For a connection like another's. Its options are complete, so what is the app's wish among them and
 * what a default cannot be told apart: ours hold.
 */
export function duplicateSettings(options: Settings, timeoutMs: number): Settings {
  const { connectionName, ...ours } = defaults(timeoutMs);
  return { ...ours, connectionName: options['connectionName'] ?? connectionName, ...STRICT };
}

/** What of a client's settings could charge twice or late, as `name: value` to set instead. */
export function unsafeSettings(options: Settings, isCluster: boolean): string[] {
  const { enableOfflineQueue, autoResendUnfulfilledCommands, maxRetriesPerRequest } = STRICT;
  const resent = { autoResendUnfulfilledCommands, maxRetriesPerRequest };
  if (!isCluster) return differences(options, { enableOfflineQueue, ...resent });
  const { retryDelayOnFailover } = STRICT_CLUSTER;
  const ofNodes = differences((options['redisOptions'] ?? {}) as Settings, resent);
  return [
    ...differences(options, { enableOfflineQueue, retryDelayOnFailover }),
    ...ofNodes.map((setting) => `redisOptions.${setting}`),
  ];
}

function differences(options: Settings, wanted: Settings): string[] {
  return Object.entries(wanted)
    .filter(([name, value]) => options[name] !== value)
    .map(([name, value]) => `${name}: ${String(value)}`);
}

function defaults(timeoutMs: number): Settings {
  return {
    connectionName: 'nestjs-sluice',
    connectTimeout: 2_000,
    // How long a closed connection may keep the process alive.
    disconnectTimeout: 100,
    // For what stands between: it cannot tell that a server has stopped.
    keepAlive: 30_000,
    // A connection whose answers are this late has none to give: only a new one may be well.
    socketTimeout: Math.max(500, 5 * timeoutMs),
    retryStrategy: backoffMs,
    // Its pause cannot be broken off, so a shutdown waits for it.
    sentinelRetryStrategy: (attempt: number) => Math.min(500, backoffMs(attempt)),
    sentinelCommandTimeout: 500,
  };
}

/** Full jitter up to a cap of 2 s, so that many processes do not come back at once. */
function backoffMs(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(2_000, 50 * 2 ** Math.min(attempt, 6)));
}

/**
 * A master that was demoted keeps its connections: only a new one finds the new master. 1 is to
 * reconnect; 2 would send the command again.
 */
function reconnectOnError({ message }: Error): 1 | false {
  return message.includes('READONLY') ? 1 : false;
}
