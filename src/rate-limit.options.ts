import type { Clock } from './clock.js';
import type { HeaderFamily } from './http/rate-limit-headers.js';
import type { Refusal } from './http/problem.js';
import type { IdentityOptions } from './identity/identity-options.js';
import type { Duration } from './policies/duration.js';
import type { FailurePolicy, RateLimitStore } from './stores/rate-limit.store.js';
import type { EvalNumkeysClient, ScriptRunner } from './stores/redis/script-runner.js';
import type { RateLimitContext } from './tiers/rate-limit-context.js';
import type { TierOptions } from './tiers/tier-options.js';

/** ioredis options, such as `{ host, port, tls }`, for a connection that the module opens. */
export interface RedisConnectionOptions {
  readonly host?: string;
  readonly port?: number;
  readonly [option: string]: unknown;
}

/** A cluster that the module connects to with ioredis. */
export interface RedisClusterOptions {
  readonly cluster: readonly (string | { readonly host?: string; readonly port?: number })[];
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A URL, connection options, a cluster, or a client that the app owns, opens and closes. */
export type RedisSource =
  string | RedisClusterOptions | EvalNumkeysClient | ScriptRunner | RedisConnectionOptions;

export interface RateLimitOptions {
  /** Where counters live. Absent: in this process. */
  redis?: RedisSource;
  /**
   * Whether a client given as `redis` is used itself even where its settings could charge twice or
   * late, with a warning. Default false: then a connection like it is opened, and closed with the app.
   */
  reuseConnection?: boolean;
  /** Whether the app refuses to start while Redis does not answer within 2 s. Default false. */
  requireRedisAtBoot?: boolean;
  /** A store of your own, instead of `redis`. */
  store?: RateLimitStore;
  /** First part of every key, the same in every process that shares counters. Default `'rl'`. */
  prefix?: string;
  /** Who is asking: API key, user, address. Without it everybody is an address. */
  identity?: IdentityOptions;
  /** Tiers that apply to every route. Default none: only routes with `@RateLimit` are limited. */
  tiers?: TierOptions[];
  /** What happens while Redis, or a resolver of the app, does not answer. Default `'local'`. */
  onStoreFailure?: FailurePolicy;
  /** Processes that share the limits: each one's local fallback gets `limit / instances`. Default 1. */
  instances?: number;
  /** Milliseconds a decision may take before `onStoreFailure` holds. Default 100. */
  timeoutMs?: number;
  /**
   * Whether what Redis has refused for a time is refused here for that time, without asking it
   * again: for `maxLife` at most (default `'1s'`, up to a minute), for `maxKeys` different lists of
   * charges (default 10 000). Default true. `docs/denied-cache.md`.
   */
  deniedCache?: boolean | { maxLife?: Duration; maxKeys?: number };
  /** Milliseconds that `verify`, a limit, a cost and other resolvers may take. Default 1000. */
  resolverTimeoutMs?: number;
  /** Headers that tell the quota; `[]` for none. Default `['x-ratelimit']`. */
  headers?: HeaderFamily[];
  /** `X-RateLimit-Reset` as seconds since the epoch, or from now. Default `'epoch'`. */
  resetHeader?: 'epoch' | 'delta';
  /** The body of a refusal, instead of problem+json. */
  body?: (refusal: Refusal) => object | string;
  /** True for requests that no tier counts. A function that fails skips nothing. */
  skip?: (context: RateLimitContext) => boolean | Promise<boolean>;
  /** Health checks and internal traffic: addresses and ranges, exact paths or `'/prefix/*'`. */
  exempt?: { ips?: string[]; paths?: string[] };
  /** Keys kept in this process at the same time. Default 1 000 000. */
  maxKeys?: number;
  /** Time for what is counted in this process; Redis has its own. Default: monotonic. */
  clock?: Clock;
  /** False admits everything and counts nothing, for tests. Default true. */
  enabled?: boolean;
}

/** Options of the module itself, beside those above, in `forRoot` and in `forRootAsync`. */
export interface RateLimitModuleExtras {
  /** Whether other modules see `LimiterService` without importing this one. Default true. */
  isGlobal?: boolean;
  /** Whether `RateLimitGuard` guards the whole app. Default true. */
  registerGuard?: boolean;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitOptions | Promise<RateLimitOptions>;
}
