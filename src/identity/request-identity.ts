import { asPromise } from './as-promise.js';
import type { CheckedIdentity } from './check-identity.js';
import { checkedId } from './checked-id.js';
import type { Client } from './client.js';

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
  /** One object for all that came in one request and is counted apart, such as GraphQL fields. */
  readonly bundle?: object;
}

/** One client for all callers that have no address, such as those of a Unix socket. */
export const NO_ADDRESS: Client = Object.freeze({ kind: 'ip', id: 'unknown' });

type Holder = Client | null | undefined;
type User = Client | undefined | Promise<Client | undefined>;

const bundled = new WeakMap<object, RequestIdentity>();

/** Who the caller is, worked out once for all of its bundle. */
export function identityOf(caller: Caller, identity: CheckedIdentity): RequestIdentity {
  const { bundle } = caller;
  if (bundle === undefined) return new RequestIdentity(caller, identity);
  let known = bundled.get(bundle);
  if (known === undefined) {
    known = new RequestIdentity(caller, identity);
    bundled.set(bundle, known);
  }
  return known;
}

/**
 * The identities of one request, each worked out when it is first asked for. A key is verified at
 * most once; the user is looked at each time, because a later guard may set it.
 * Rejects, and never throws, when a function of the app throws or answers nonsense.
 * Answers without a promise where nobody has to be waited for.
 */
export class RequestIdentity {
  private address?: Client;
  private resolved?: Client;
  private isKeyKnown = false;
  private holder: Holder | Promise<Holder>;

  constructor(
    private readonly caller: Caller,
    private readonly identity: CheckedIdentity,
  ) {}

  ip(): Client {
    const { addresses } = this.identity;
    this.address ??=
      addresses.clientAt(this.caller.ip) ?? addresses.clientAt(this.caller.peer) ?? NO_ADDRESS;
    return this.address;
  }

  /** The client as far as it was needed yet: looking at it costs no lookup of a key. */
  get known(): Client {
    return this.resolved ?? this.ip();
  }

  /** Whether the app would be asked whose the key is, which may be dear. */
  get isUnverified(): boolean {
    if (this.isKeyKnown || this.identity.apiKeys === undefined) return false;
    try {
      return this.identity.apiKeys.mustAsk(this.caller.request, this.caller.headers);
    } catch {
      // Told to whoever asks for the key itself.
      return false;
    }
  }

  /** The holder of the key; null when the key is nobody's, undefined when there is none. */
  apiKey(): Holder | Promise<Holder> {
    if (!this.isKeyKnown) {
      this.isKeyKnown = true;
      this.holder = this.findHolder();
    }
    return this.holder;
  }

  user(): User {
    try {
      const id = this.identity.user?.(this.caller.request);
      const asking = asPromise(id);
      return asking === undefined ? this.userOf(id) : asking.then((found) => this.userOf(found));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * A key that is nobody's does not fall back to a user: it is counted under its address. `askUser`
   * is called where there is no key.
   */
  client(askUser = (): User => this.user()): Client | Promise<Client> {
    const holder = this.apiKey();
    if (holder instanceof Promise) return holder.then((found) => this.clientBeside(found, askUser));
    return this.clientBeside(holder, askUser);
  }

  private findHolder(): Holder | Promise<Holder> {
    try {
      const { request, headers } = this.caller;
      const holder = this.identity.apiKeys?.holderFor(request, headers);
      if (!(holder instanceof Promise)) return this.found(holder);
      return holder.then((found) => (this.holder = this.found(found)));
    } catch (error) {
      // Kept, so that a key that could not be verified is not one that was not sent.
      return Promise.reject(error);
    }
  }

  private found(holder: Holder): Holder {
    if (holder) this.resolved = holder;
    return holder;
  }

  private userOf(id: unknown): Client | undefined {
    if (id === undefined || id === null) return undefined;
    const user = this.identity.users.clientOf(checkedId(id, 'user'));
    if (this.resolved?.kind !== 'api-key') this.resolved = user;
    return user;
  }

  private clientBeside(holder: Holder, askUser: () => User): Client | Promise<Client> {
    if (holder === null) return this.ip();
    if (holder !== undefined) return holder;
    const user = askUser();
    return user instanceof Promise ? user.then((found) => found ?? this.ip()) : (user ?? this.ip());
  }
}
