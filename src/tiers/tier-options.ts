import type { AlgorithmName } from '../algorithms/registry.js';
import type { Duration } from '../policies/duration.js';
import type { PolicyText } from '../policies/policy.js';
import type { FailurePolicy } from '../stores/rate-limit.store.js';
import type { RateLimitContext, Resolvable } from './rate-limit-context.js';

/** Which client of a request. */
export type ClientBy = 'client' | 'api-key' | 'user' | 'ip';

/** Whom a tier counts. `'client'` is whoever is asking: API key, else user, else address. */
export type CountedBy =
  | ClientBy
  | 'global'
  | ((context: RateLimitContext) => string | undefined | Promise<string | undefined>);

/**
 * When a tier is decided: `'edge'` before body parsing and routing, for unknown routes too;
 * `'guard'` with the other guards; `'handler'` after all guards, when a route's own auth guard has
 * set the user.
 */
export type Phase = 'edge' | 'guard' | 'handler';

/** A policy whose numbers may depend on the request. */
export interface TierPolicy {
  algorithm: AlgorithmName;
  limit: Resolvable<number>;
  window: Resolvable<Duration>;
  burst?: Resolvable<number>;
  maxDelay?: Resolvable<Duration>;
}

export interface TierSettings {
  /** Whom it counts. A tier whose subject is absent does not apply. Default `'client'`. */
  by?: CountedBy;
  /** Whole units that one request uses, 0 or more. Default 1. */
  cost?: Resolvable<number>;
  /** Default `'guard'`. */
  phase?: Phase;
  /** `'shadow'` counts and logs what it would have refused, and refuses nothing. Default `'enforce'`. */
  mode?: 'enforce' | 'shadow';
  /** What happens while the store, or a resolver of this tier, does not answer. Default: the module's. */
  onStoreFailure?: FailurePolicy;
  /** True for requests that this tier does not count. */
  skip?: (context: RateLimitContext) => boolean | Promise<boolean>;
}

type Written = TierPolicy | { policy: PolicyText };

/** A tier of `forRoot`: applies to every route. */
export type TierOptions = TierSettings & Written & { name: string };

/** A tier of `@RateLimit`: applies to a route, or to every route of a class. */
export type RouteTierOptions = Omit<TierSettings, 'phase'> &
  Written & {
    /** Tells several tiers of a route apart. Default `'route'`. */
    name?: string;
    phase?: Exclude<Phase, 'edge'>;
    /** Routes with one scope and one tier name share a counter. Default: each route its own. */
    scope?: string;
  };
