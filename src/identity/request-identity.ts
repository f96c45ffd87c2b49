import type { Client } from './client.js';
import type { IdentityOptions, VerifiedKey } from './identity-options.js';
import { DEFAULT_IPV6_PREFIX, canonicalIp } from './ip-address.js';

/** What a transport knows of the caller. */
export interface Caller {
  /** What the app's resolvers are given. */
  readonly request: unknown;
  /** The address that the platform worked out, proxies considered. */
  readonly ip: unknown;
  /** The address of the connection itself, for when the other is no address. */
  readonly peer: unknown;
  /** Request headers, with lower-case names. */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** One address for all callers that have none, such as those of a Unix socket. */
const NO_ADDRESS = 'unknown';
const DEFAULT_HEADER = 'x-api-key';

/**
 * The identities of one request, each worked out when it is first asked for. A key is verified at
 * most once; the user is looked at again until there is one, because a later guard may set it.
 * Rejects when a resolver of the app throws or answers nonsense.
 */
export class RequestIdentity {
  private address?: Client;
  private resolved?: Client;
  private key?: Promise<Client | null | undefined>;

  constructor(
    private readonly caller: Caller,
    private readonly options: IdentityOptions,
  ) {}

  ip(): Client {
    const prefix = this.options.ip?.ipv6Prefix ?? DEFAULT_IPV6_PREFIX;
    this.address ??= {
      kind: 'ip',
      id:
        canonicalIp(this.caller.ip, prefix) ?? canonicalIp(this.caller.peer, prefix) ?? NO_ADDRESS,
    };
    return this.address;
  }

  /** The holder of the key; null when the key is nobody's, undefined when there is none. */
  async apiKey(): Promise<Client | null | undefined> {
    this.key ??= this.verifiedKey();
    const holder = await this.key;
    if (holder) this.resolved = holder;
    return holder;
  }

  async user(): Promise<Client | undefined> {
    const id = await this.options.user?.(this.caller.request);
    if (id === undefined || id === null) return undefined;
    const user: Client = { kind: 'user', id: checkedId(id, 'user') };
    if (this.resolved?.kind !== 'api-key') this.resolved = user;
    return user;
  }

  /** The client as far as it was needed yet: looking at it costs no lookup of a key. */
  get known(): Client {
    return this.resolved ?? this.ip();
  }

  /** A key that is nobody's does not fall back to a user: it is counted under its address. */
  async client(): Promise<Client> {
    const holder = this.options.apiKey === undefined ? undefined : await this.apiKey();
    if (holder === null) return this.ip();
    return holder ?? (await this.user()) ?? this.ip();
  }

  private async verifiedKey(): Promise<Client | null | undefined> {
    const { apiKey } = this.options;
    if (apiKey === undefined) return undefined;
    const { request, headers } = this.caller;
    const header = (apiKey.header ?? DEFAULT_HEADER).toLowerCase();
    const key = apiKey.from === undefined ? headers[header] : apiKey.from(request);
    if (key === undefined || key === null || key === '') return undefined;
    // An array or an object is a key that nobody can hold, not a key that is absent.
    if (typeof key !== 'string') return null;
    if (apiKey.verify === undefined) return { kind: 'api-key', id: key };
    try {
      const verified = await apiKey.verify(key, request);
      return verified ? holderOf(verified) : null;
    } catch (error) {
      throw withoutKey(error, key);
    }
  }
}

function holderOf(verified: VerifiedKey): Client {
  const id = checkedId(verified.id, 'identity.apiKey.verify');
  return { ...verified, kind: 'api-key', id };
}

/** What is thrown here is logged, and a database's message may quote the key it looked for. */
function withoutKey(error: unknown, key: string): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(reason.replaceAll(key, '<key>'));
}

function checkedId(id: unknown, option: string): string {
  if ((typeof id === 'string' && id !== '') || Number.isSafeInteger(id)) return String(id);
  throw new TypeError(`${option} answered an id that is ${typeof id}, expected a non-empty string`);
}
