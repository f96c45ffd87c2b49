import type { Client } from './identity/client.js';
import { RecentMap } from './recent-map.js';
import type { Operation } from './stores/rate-limit.store.js';
import type { Tier } from './tiers/tier.js';

const REMEMBERED = 10_000;
/** Of a client; more are made anew. */
const MAX_LISTS = 8;

interface OfClient {
  readonly lists: (readonly Tier[])[];
  readonly operations: Operation[];
}

/**
 * What clients consume of lists of tiers that depend on nothing but who asks: the same each time.
 * Only of clients and lists that requests share, which are frozen.
 */
export class SettledOperations {
  private readonly known = new RecentMap<Client, OfClient>(REMEMBERED);

  /** Undefined for what no two requests share. */
  of(tiers: readonly Tier[], client: Client, make: () => Operation): Operation | undefined {
    const known = this.known.get(client);
    const place = known === undefined ? -1 : known.lists.indexOf(tiers);
    if (place !== -1) return known!.operations[place];
    if (!Object.isFrozen(client) || !Object.isFrozen(tiers)) return undefined;
    const operation = make();
    this.keep(tiers, client, operation);
    return operation;
  }

  private keep(tiers: readonly Tier[], client: Client, operation: Operation): void {
    const { lists, operations } = this.known.get(client) ?? { lists: [], operations: [] };
    if (lists.length >= MAX_LISTS) return;
    lists.push(tiers);
    operations.push(operation);
    this.known.set(client, { lists, operations });
  }
}
