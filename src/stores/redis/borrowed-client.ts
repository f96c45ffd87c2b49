import type { OwnedClient } from './connect.js';
import { clusterSettings, duplicateSettings, unsafeSettings } from './safe-settings.js';

type Settings = Readonly<Record<string, unknown>>;

/** As far as it shows its settings: ioredis, iovalkey, and their clusters. */
interface Configured {
  readonly isCluster?: boolean;
  readonly options: Settings;
  duplicate?(...overrides: unknown[]): OwnedClient;
}

/**
 * What of the settings of the app's client could charge twice or late, as `name: value` to set
 * instead. Nothing for clients that do not show them.
 */
export function unsafeSettingsOf(client: object): string[] {
  if (!isConfigured(client)) return [];
  return unsafeSettings(client.options, client.isCluster === true);
}

/** A connection like the client's, with settings that are safe; undefined where it cannot be made. */
export function safeDuplicate(client: object, timeoutMs: number): OwnedClient | undefined {
  if (!isConfigured(client) || typeof client.duplicate !== 'function') return undefined;
  const { options } = client;
  if (client.isCluster !== true) return client.duplicate(duplicateSettings(options, timeoutMs));
  const nodes = (options['redisOptions'] ?? {}) as Settings;
  // The first argument would name other nodes to start from.
  return client.duplicate([], {
    ...clusterSettings({}, timeoutMs),
    redisOptions: { ...nodes, ...duplicateSettings(nodes, timeoutMs) },
  });
}

/** Whether it can be asked for its status. */
export function hasStatus(client: object): client is Pick<OwnedClient, 'status' | 'once' | 'off'> {
  return isConfigured(client) && typeof (client as Partial<OwnedClient>).status === 'string';
}

function isConfigured(client: object): client is Configured {
  const { options } = client as Partial<Configured>;
  return (
    typeof options === 'object' &&
    options !== null &&
    ('autoResendUnfulfilledCommands' in options || 'retryDelayOnFailover' in options)
  );
}
