import type { RateLimitOptions } from '../rate-limit.options.js';
import { RateLimitConfigurationError, mismatch } from '../policies/configuration-error.js';
import type { PolicyText } from '../policies/policy.js';
import type { HeaderFamily } from '../http/rate-limit-headers.js';
import type { FailurePolicy } from '../stores/rate-limit.store.js';
import type { CountedBy, TierOptions } from '../tiers/tier-options.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Options from environment variables; an unset or empty one leaves the option's default. What they
 * hold is checked with all other options at boot, what is no number or no tier here.
 */
export function optionsFromEnvironment(environment: Environment): RateLimitOptions {
  const text = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const whole = (name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^[0-9]{1,16}$/.test(value)) return Number(value);
    throw new RateLimitConfigurationError(name, mismatch(value, 'a whole number'));
  };
  const secret = text('RATE_LIMIT_SECRET');
  return withoutUndefined({
    redis: text('RATE_LIMIT_REDIS_URL'),
    prefix: text('RATE_LIMIT_PREFIX'),
    identity: secret === undefined ? undefined : { secret },
    tiers: tiersOf(text('RATE_LIMIT_TIERS')),
    onStoreFailure: text('RATE_LIMIT_ON_STORE_FAILURE') as FailurePolicy | undefined,
    instances: whole('RATE_LIMIT_INSTANCES'),
    timeoutMs: whole('RATE_LIMIT_TIMEOUT_MS'),
    headers: text('RATE_LIMIT_HEADERS')
      ?.split(',')
      .map((family) => family.trim()) as HeaderFamily[] | undefined,
    enabled: enabledOf(text('RATE_LIMIT_ENABLED')),
  });
}

/** `name@by=policy`, separated by `;`: `edge@ip=sliding-window-counter:1000/1m; plan@client=gcra:60/1m`. */
function tiersOf(written: string | undefined): TierOptions[] | undefined {
  return written
    ?.split(';')
    .filter((tier) => tier.trim() !== '')
    .map((tier) => {
      const [, name, by, policy] = /^([^@=]+)@([a-z-]+)=(\S+)$/.exec(tier.trim()) ?? [];
      if (name === undefined) {
        throw new RateLimitConfigurationError(
          'RATE_LIMIT_TIERS',
          mismatch(tier.trim(), "'<name>@<by>=<policy>', such as 'edge@ip=gcra:60/1m'"),
        );
      }
      return { name, by: by as CountedBy, policy: policy as PolicyText };
    });
}

function enabledOf(written: string | undefined): boolean | undefined {
  if (written === undefined) return undefined;
  if (written === 'true' || written === 'false') return written === 'true';
  throw new RateLimitConfigurationError('RATE_LIMIT_ENABLED', mismatch(written, 'true or false'));
}

function withoutUndefined(options: {
  [Name in keyof RateLimitOptions]: RateLimitOptions[Name] | undefined;
}): RateLimitOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as RateLimitOptions;
}
