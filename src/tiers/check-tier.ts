import { MAX } from '../algorithms/algorithm.js';
import { isStructuredFieldString } from '../http/structured-field.js';
import { checkFunction, checkObject, checkOneOf, checkWhole } from '../policies/checks.js';
import { RateLimitConfigurationError, mismatch } from '../policies/configuration-error.js';
import { definePolicy } from '../policies/define-policy.js';
import type { Policy, PolicyOptions, PolicyText } from '../policies/policy.js';
import type { FailurePolicy } from '../stores/rate-limit.store.js';
import type { Resolvable } from './rate-limit-context.js';
import type { CountedBy, TierPolicy } from './tier-options.js';
import { Tier } from './tier.js';

const COUNTED_BY = ['client', 'api-key', 'user', 'ip', 'global'] as const;
const PHASES = ['edge', 'guard', 'handler'] as const;
const MODES = ['enforce', 'shadow'] as const;
export const FAILURE_POLICIES = ['local', 'open', 'closed'] as const;

const POLICY_OPTIONS = ['algorithm', 'limit', 'window', 'burst', 'maxDelay'] as const;
const SETTINGS = ['name', 'by', 'cost', 'phase', 'mode', 'onStoreFailure', 'skip'] as const;

/** Where a tier was written, and what it takes over from there. */
export interface TierOrigin {
  /** Names the place in errors, such as `tiers[0]`. */
  readonly option: string;
  readonly onStoreFailure: FailurePolicy;
  /** The route a decorator's tier belongs to; absent for a tier of `forRoot`. */
  readonly route?: { readonly id: string };
  /** Identities that are configured: a tier that counts another would never apply. */
  readonly identities: readonly string[];
}

/** A tier that is checked and complete. Throws a RateLimitConfigurationError naming the option. */
export function checkTier(written: unknown, origin: TierOrigin): Tier {
  const { option, route } = origin;
  const known = [...SETTINGS, ...POLICY_OPTIONS, 'policy', ...(route ? ['scope'] : [])];
  const options = checkObject(written, option, known);

  const name = checkName(options['name'] ?? (route ? 'route' : undefined), `${option}.name`);
  const phase = checkOneOf(options['phase'] ?? 'guard', `${option}.phase`, PHASES);
  const counted = options['by'] ?? (phase === 'edge' ? 'ip' : 'client');
  const by = checkBy(counted, `${option}.by`, origin);
  if (phase === 'edge') checkEdge(by, origin);
  const mode = checkOneOf(options['mode'] ?? 'enforce', `${option}.mode`, MODES);
  const onStoreFailure = checkOneOf(
    options['onStoreFailure'] ?? origin.onStoreFailure,
    `${option}.onStoreFailure`,
    FAILURE_POLICIES,
  );
  const skip = checkFunction(options['skip'], `${option}.skip`) as Tier['skip'];
  const { policy, dynamic } = checkPolicy(name, options, option);
  const { cost = 1 } = options;
  return new Tier(
    name,
    by,
    phase,
    mode === 'shadow',
    onStoreFailure,
    checkCost(cost, `${option}.cost`, policy),
    skip,
    policy,
    dynamic,
    checkScope(options['scope'], `${option}.scope`, route?.id),
  );
}

function checkName(name: unknown, option: string): string {
  if (isStructuredFieldString(name)) return name;
  throw new RateLimitConfigurationError(
    option,
    mismatch(name, 'a name of 1 to 64 printable ASCII characters: it is sent in headers'),
  );
}

function checkBy(by: unknown, option: string, { identities }: TierOrigin): CountedBy {
  if (typeof by === 'function') return by as CountedBy;
  const subject = checkOneOf(by, option, COUNTED_BY);
  if ((subject === 'api-key' || subject === 'user') && !identities.includes(subject)) {
    const identity = subject === 'user' ? 'identity.user' : 'identity.apiKey';
    throw new RateLimitConfigurationError(
      option,
      mismatch(subject, `another, or ${identity}: without it the tier never applies`),
    );
  }
  return subject;
}

function checkEdge(by: CountedBy, { option, route }: TierOrigin): void {
  if (route !== undefined) {
    throw new RateLimitConfigurationError(
      `${option}.phase`,
      "'edge' comes before routing, so no route can have it; expected 'guard' or 'handler'",
    );
  }
  if (by === 'api-key' || by === 'user' || by === 'client') {
    throw new RateLimitConfigurationError(
      `${option}.by`,
      `'${by}' is not known in the edge phase, expected 'ip', 'global' or a function`,
    );
  }
}

function checkPolicy(
  name: string,
  options: Record<string, unknown>,
  option: string,
): { policy?: Policy; dynamic?: TierPolicy } {
  const { policy: text } = options;
  const given = POLICY_OPTIONS.filter((key) => options[key] !== undefined);
  if (text !== undefined) {
    if (given.length > 0) {
      throw new RateLimitConfigurationError(
        `${option}.policy`,
        `is given beside ${given.join(', ')}; expected one or the other`,
      );
    }
    if (typeof text !== 'string') {
      throw new RateLimitConfigurationError(`${option}.policy`, mismatch(text, "a policy's text"));
    }
    return { policy: definePolicy(name, text as PolicyText, `${option}.policy`) };
  }
  const numbers = Object.fromEntries(given.map((key) => [key, options[key]]));
  const isDynamic = given.some((key) => key !== 'algorithm' && typeof numbers[key] === 'function');
  if (!isDynamic) {
    return { policy: definePolicy(name, numbers as unknown as PolicyOptions, option) };
  }
  // What is fixed is checked now, with stand-ins that fit any policy for what is not.
  const fixed = Object.fromEntries(
    Object.entries(numbers).map(([key, value]) => [
      key,
      typeof value === 'function' ? (key === 'limit' || key === 'burst' ? 1 : '1ms') : value,
    ]),
  );
  definePolicy(name, fixed as unknown as PolicyOptions, option);
  return { dynamic: numbers as unknown as TierPolicy };
}

function checkCost(cost: unknown, option: string, policy: Policy | undefined): Resolvable<number> {
  if (typeof cost === 'function') return cost as Resolvable<number>;
  const units = checkWhole(cost, option, 0, MAX);
  if (policy === undefined || policy.limit === 0) return units;
  const capacity = policy.law.capacity(policy);
  if (units > capacity) {
    const expected = `at most ${capacity}: ${policy.text} never lets more pass at once`;
    throw new RateLimitConfigurationError(option, mismatch(units, expected));
  }
  return units;
}

/** What a counter belongs to besides its tier: a shared scope, else its route, else nothing. */
export function checkScope(scope: unknown, option: string, routeId = ''): string {
  if (scope === undefined) return routeId;
  if (typeof scope !== 'string' || scope === '') {
    throw new RateLimitConfigurationError(option, mismatch(scope, 'a non-empty string'));
  }
  return `scope ${scope}`;
}
