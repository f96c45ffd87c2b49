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
   * Asked at most once per request.
   */
  verify?: (
    key: string,
    request: any,
  ) => VerifiedKey | null | undefined | Promise<VerifiedKey | null | undefined>;
  /** A gateway in front has verified the key: it is an identity as it stands. Default false. */
  trusted?: boolean;
}

export interface IpOptions {
  /** Bits of an IPv6 address that make one client, 32 to 128. Default 56, a common assignment. */
  ipv6Prefix?: number;
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
   * Keys the hash that stands for an identity in Redis, 16 characters or more, the same in every
   * process. Without it whoever reads Redis can confirm a guessed identity.
   */
  secret?: string;
  /** Log users and addresses as they are, not hashed. Default false. */
  logIdentity?: boolean;
}
