import type { Client } from './client.js';
import type { IpOptions } from './identity-options.js';
import { DEFAULT_IPV6_PREFIX, canonicalIp } from './ip-address.js';
import { MAX_IP_LENGTH } from './ip-parser.js';
import { RecentMap } from '../recent-map.js';

const REMEMBERED = 10_000;

/** The client of each address, remembered by its spelling: one lookup for who asks again. */
export class Addresses {
  private readonly known = new RecentMap<string, Client>(REMEMBERED);
  private readonly ipv6Prefix: number;
  private readonly nat64: boolean;

  constructor(options: IpOptions = {}) {
    this.ipv6Prefix = options.ipv6Prefix ?? DEFAULT_IPV6_PREFIX;
    this.nat64 = options.nat64 ?? false;
  }

  /** Undefined for what is no address, which is not remembered either. */
  clientAt(spelling: unknown): Client | undefined {
    if (typeof spelling !== 'string' || spelling.length > MAX_IP_LENGTH) return undefined;
    const known = this.known.get(spelling);
    if (known !== undefined) return known;
    const id = canonicalIp(spelling, this.ipv6Prefix, { nat64: this.nat64 });
    if (id === undefined) return undefined;
    // Shared between requests, so nobody may change it.
    const client: Client = Object.freeze({ kind: 'ip', id });
    this.known.set(spelling, client);
    return client;
  }
}
