import { monotonicClock, type Clock } from './clock.js';
import { conflictingFamilies, type HeaderFamily } from './http/rate-limit-headers.js';
import { checkIdentity, type CheckedIdentity } from './identity/check-identity.js';
import { ipRanges } from './identity/ip-ranges.js';
import {
  checkBoolean,
  checkFunction,
  checkObject,
  checkOneOf,
  checkWhole,
} from './policies/checks.js';
import { RateLimitConfigurationError, mismatch } from './policies/configuration-error.js';
import type { RateLimitOptions } from './rate-limit.options.js';
import { checkDeniedCache } from './stores/check-denied-cache.js';
import { RateLimitStore, type FailurePolicy } from './stores/rate-limit.store.js';
import { isRedisClient } from './stores/redis/script-runner.js';
import { FAILURE_POLICIES, checkTier } from './tiers/check-tier.js';
import type { Tier } from './tiers/tier.js';

export const OPTION_NAMES = [
  ...['redis', 'store', 'prefix', 'identity', 'tiers', 'onStoreFailure', 'instances', 'timeoutMs'],
  ...['resolverTimeoutMs', 'headers', 'resetHeader', 'body', 'skip', 'exempt', 'maxKeys', 'clock'],
  ...['deniedCache', 'enabled', 'reuseConnection', 'requireRedisAtBoot'],
];
const FAMILIES = ['x-ratelimit', 'draft-6', 'draft-7', 'draft-8'] as const;
const MAX_TIMEOUT_MS = 60_000;

/** The module's options, checked and complete; the injection token of itself. */
export class RateLimitSettings {
  readonly redis: unknown;
  readonly store: RateLimitStore | undefined;
  readonly prefix: string;
  readonly identity: CheckedIdentity;
  /** Kinds of identity besides addresses that are configured. */
  readonly identities: readonly string[];
  readonly tiers: readonly Tier[];
  readonly onStoreFailure: FailurePolicy;
  readonly instances: number;
  readonly timeoutMs: number;
  /** Undefined when it is off. */
  readonly deniedCache: ReturnType<typeof checkDeniedCache>;
  readonly resolverTimeoutMs: number;
  readonly headers: readonly HeaderFamily[];
  readonly resetHeader: 'epoch' | 'delta';
  readonly body: RateLimitOptions['body'];
  readonly skip: RateLimitOptions['skip'];
  readonly hasExemptions: boolean;
  readonly isExemptIp: (ip: string) => boolean;
  readonly isExemptPath: (path: string) => boolean;
  readonly maxKeys: number;
  readonly clock: Clock;
  readonly enabled: boolean;
  readonly reuseConnection: boolean;
  readonly requireRedisAtBoot: boolean;

  /** Throws a RateLimitConfigurationError naming the first option that cannot work. */
  constructor(written: unknown) {
    const options = checkObject(written, 'options', OPTION_NAMES) as RateLimitOptions;
    this.redis = checkRedis(options.redis);
    this.store = checkStore(options);
    this.prefix = checkPrefix(options.prefix ?? 'rl');
    this.resolverTimeoutMs = checkWhole(
      options.resolverTimeoutMs ?? 1_000,
      'resolverTimeoutMs',
      1,
      MAX_TIMEOUT_MS,
    );
    this.clock = checkClock(options.clock ?? monotonicClock);
    this.identity = checkIdentity(options.identity ?? {}, 'identity', this);
    this.identities = [
      ...(this.identity.apiKey === undefined ? [] : ['api-key']),
      ...(this.identity.user === undefined ? [] : ['user']),
    ];
    this.onStoreFailure = checkOneOf(
      options.onStoreFailure ?? 'local',
      'onStoreFailure',
      FAILURE_POLICIES,
    );
    this.tiers = this.checkTiers(options.tiers ?? []);
    this.instances = checkWhole(options.instances ?? 1, 'instances', 1, 1_000_000);
    this.timeoutMs = checkWhole(options.timeoutMs ?? 100, 'timeoutMs', 1, MAX_TIMEOUT_MS);
    this.deniedCache = checkDeniedCache(options.deniedCache ?? true);
    this.headers = checkHeaders(options.headers ?? ['x-ratelimit']);
    this.resetHeader = checkOneOf(options.resetHeader ?? 'epoch', 'resetHeader', [
      'epoch',
      'delta',
    ]);
    this.body = checkFunction(options.body, 'body');
    this.skip = checkFunction(options.skip, 'skip');
    const exempt = checkExempt(options.exempt ?? {});
    this.hasExemptions = options.exempt !== undefined;
    this.isExemptIp = exempt.ips;
    this.isExemptPath = exempt.paths;
    this.maxKeys = checkWhole(options.maxKeys ?? 1_000_000, 'maxKeys', 1, 2 ** 24);
    this.enabled = checkBoolean(options.enabled ?? true, 'enabled');
    this.reuseConnection = checkBoolean(options.reuseConnection ?? false, 'reuseConnection');
    this.requireRedisAtBoot = checkBoolean(
      options.requireRedisAtBoot ?? false,
      'requireRedisAtBoot',
    );
    if (this.requireRedisAtBoot && this.redis === undefined) {
      throw new RateLimitConfigurationError(
        'requireRedisAtBoot',
        'is true without redis; is the variable that holds its URL set?',
      );
    }
  }

  private checkTiers(written: unknown): Tier[] {
    if (!Array.isArray(written)) {
      throw new RateLimitConfigurationError('tiers', mismatch(written, 'an array of tiers'));
    }
    const { onStoreFailure, identities } = this;
    const tiers = written.map((tier, index) =>
      checkTier(tier, { option: `tiers[${index}]`, onStoreFailure, identities }),
    );
    for (const [index, { name }] of tiers.entries()) {
      if (tiers.findIndex((tier) => tier.name === name) !== index) {
        throw new RateLimitConfigurationError(
          `tiers[${index}].name`,
          `'${name}' is the name of an earlier tier, expected another`,
        );
      }
    }
    return tiers;
  }
}

/** What it is beyond that is found out by connecting. Nothing of it is printed: it may hold a password. */
function checkRedis(redis: unknown): unknown {
  if (redis === undefined || typeof redis === 'string') return redis;
  if (isRedisClient(redis)) return redis;
  const isList = Array.isArray(redis);
  if (typeof redis === 'object' && redis !== null && !isList && Object.keys(redis).length > 0) {
    return redis;
  }
  throw new RateLimitConfigurationError(
    'redis',
    mismatch(
      redis,
      'a Redis URL, connection options, a cluster or a client; leave it out to count in this process',
    ),
  );
}

function checkStore({ store, redis }: RateLimitOptions): RateLimitStore | undefined {
  if (store === undefined) return undefined;
  if (redis !== undefined) {
    throw new RateLimitConfigurationError(
      'store',
      'is given beside redis, expected one or neither',
    );
  }
  // By shape, because an app may hold another copy of this package.
  if (typeof (store as Partial<RateLimitStore> | null)?.decide === 'function') return store;
  throw new RateLimitConfigurationError('store', mismatch(store, 'a RateLimitStore'));
}

function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,64}$/.test(prefix)) return prefix;
  throw new RateLimitConfigurationError(
    'prefix',
    mismatch(prefix, '1 to 64 letters, digits or any of _ . : -'),
  );
}

function checkHeaders(written: unknown): HeaderFamily[] {
  if (!Array.isArray(written)) {
    throw new RateLimitConfigurationError('headers', mismatch(written, 'an array of families'));
  }
  const families = written.map((family, index) =>
    checkOneOf(family, `headers[${index}]`, FAMILIES),
  );
  const conflict = conflictingFamilies(families);
  if (conflict !== undefined) {
    throw new RateLimitConfigurationError(
      'headers',
      `'${conflict[0]}' and '${conflict[1]}' use the same names for different values, expected one of them`,
    );
  }
  return families;
}

function checkExempt(written: unknown): {
  ips: (ip: string) => boolean;
  paths: (path: string) => boolean;
} {
  const { ips = [], paths = [] } = checkObject(written, 'exempt', ['ips', 'paths']);
  return {
    ips: checkRanges(checkStrings(ips, 'exempt.ips')),
    paths: pathMatcher(checkStrings(paths, 'exempt.paths')),
  };
}

function checkStrings(value: unknown, option: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new RateLimitConfigurationError(option, mismatch(value, 'an array of strings'));
}

function checkRanges(ips: string[]): (ip: string) => boolean {
  try {
    return ipRanges(ips);
  } catch (error) {
    throw new RateLimitConfigurationError('exempt.ips', (error as Error).message);
  }
}

/** Exact paths, and everything under those that end in `/*`. */
function pathMatcher(paths: string[]): (path: string) => boolean {
  const wrong = paths.find(
    (path) => !path.startsWith('/') || /[*?#]/.test(path.replace(/\/\*$/, '')),
  );
  if (wrong !== undefined) {
    throw new RateLimitConfigurationError(
      'exempt.paths',
      mismatch(wrong, "a path such as '/health', or '/internal/*' for all under it"),
    );
  }
  const exact = new Set(paths.filter((path) => !path.endsWith('/*')));
  const under = paths.filter((path) => path.endsWith('/*')).map((path) => path.slice(0, -1));
  if (paths.length === 0) return () => false;
  return (path) => exact.has(path) || under.some((prefix) => path.startsWith(prefix));
}

function checkClock(clock: unknown): Clock {
  if (typeof (clock as Partial<Clock> | null)?.now === 'function') return clock as Clock;
  throw new RateLimitConfigurationError('clock', mismatch(clock, 'an object with now()'));
}
