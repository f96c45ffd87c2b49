import type { Duration } from '../policies/duration.js';

/**
 * What `verify` knows of a valid API key. Whatever it has beside the `id` is on `client`, for
 * limits, costs and skips to read.
 */
export interface VerifiedKey {
  /** The customer's id: what is counted, logged and told to support. Never the key itself. */
  readonly id: string | number;
}

/** How an API key is found and checked. */
export interface ApiKeyOptions {
  /** Request header that carries the key, in any case. Default `'x-api-key'`. */
  header?: string;
  /** Finds the key elsewhere, such as in a query or behind `Bearer`. Replaces `header`. */
  from?: (request: any) => string | undefined;
  /**
   * Tells whose key it is; null when it is nobody's, and then the caller's address is counted.
   * Asked at most once per request, and less often with `cache`.
   */
  verify?: (
    key: string,
    request: any,
  ) => VerifiedKey | null | undefined | Promise<VerifiedKey | null | undefined>;
  /** A gateway in front has verified the key: it is an identity as it stands. Default false. */
  trusted?: boolean;
  /**
   * What `verify` answered, that a key is nobody's included, holds for `maxAge` (default `'5s'`, up
   * to an hour): so long a revoked key counts on as its holder's. Kept for the last `maxKeys` keys
   * (default 10 000), as salted hashes. Errors are not kept. Default true, but false for a `verify`
   * that takes the request: what it answers holds for that request alone.
   */
  cache?: boolean | { maxAge?: Duration; maxKeys?: number };
}

export interface IpOptions {
  /** Bits of an IPv6 address that make one client, 32 to 128. Default 56, a common assignment. */
  ipv6Prefix?: number;
  /**
   * Whether an address under `64:ff9b::/96` is the IPv4 address in it: for IPv6-only servers that
   * IPv4 clients reach through a translator. Otherwise all of them are one client. Default false.
   */
  nat64?: boolean;
}

/** Who is asking, in this order: a verified API key, a user, an address. */
export interface IdentityOptions {
  apiKey?: ApiKeyOptions;
  /** The id of the authenticated user, from what an auth guard put on the request. */
  user?: (
    request: any,
  ) => string | number | null | undefined | Promise<string | number | null | undefined>;
  ip?: IpOptions;
  /**
   * Keys the hash that stands for an identity in Redis, 16 bytes or more, the same in every
   * process. Without it whoever reads Redis can find out identities by trying them; there is a
   * warning at boot.
   */
  secret?: string;
  /** Log users and addresses as they are, not hashed. Default false. */
  logIdentity?: boolean;
}
