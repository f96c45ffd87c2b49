import { Injectable } from '@nestjs/common';
import { namedSubject, subjectOf, type Client } from './identity/client.js';
import { DEFAULT_IPV6_PREFIX, canonicalIp } from './identity/ip-address.js';
import { CounterKeys } from './identity/counter-keys.js';
import { checkDuration, checkObject, checkOneOf } from './policies/checks.js';
import { RateLimitConfigurationError, mismatch } from './policies/configuration-error.js';
import { MAX_WINDOW_MS, definePolicy } from './policies/define-policy.js';
import type { Duration } from './policies/duration.js';
import { didYouMean } from './policies/nearest.js';
import type { Policy, PolicyOptions, PolicyText } from './policies/policy.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RateLimitUsageError, checkCost } from './stores/check-cost.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type FailurePolicy,
  type Verb,
} from './stores/rate-limit.store.js';
import { FAILURE_POLICIES, checkScope } from './tiers/check-tier.js';
import { counterSpace } from './tiers/tier.js';
import { Turns } from './turns.js';

/** A policy of one's own: its name keeps its counters apart from those of others. */
export type NamedPolicy = {
  name: string;
  /** The `scope` of a decorator's tier, to count together with it. */
  scope?: string;
  onStoreFailure?: FailurePolicy;
} & (PolicyOptions | { policy: PolicyText });

/** The name of a tier of `forRoot`, or a policy with a name. */
export type PolicyRef = string | NamedPolicy;

/**
 * Who is counted: a name of one's own, or a client as tiers count it, such as
 * `{ kind: 'api-key', id: 'customer-1' }`.
 */
export type KeyRef = string | Pick<Client, 'kind' | 'id'>;

export interface ConsumeOptions {
  /** Whole units, 0 or more. Default 1. */
  cost?: number;
}

export interface AcquireOptions extends ConsumeOptions {
  /** Milliseconds, or text such as `'30s'`, to wait at most. Default: no end. */
  maxWaitMs?: Duration;
  /** Ends the wait; `acquire` then rejects with its reason. */
  signal?: AbortSignal;
}

export interface ChargeRequest {
  policy: PolicyRef;
  key: KeyRef;
  cost?: number;
}

/** What became of several charges that were decided together. */
export interface CombinedDecision {
  readonly allowed: boolean;
  /** One a charge, in order. */
  readonly decisions: readonly Decision[];
  /** The one that keeps the caller waiting longest; when allowed, the one with the least left. */
  readonly deciding: Decision;
}

/**
 * The limiter for code of one's own: outbound calls, jobs, costs that are known afterwards.
 * A refusal is a result; what is thrown is misuse: a RateLimitUsageError for a cost, an unknown
 * tier or a key, a RateLimitConfigurationError for a policy.
 */
@Injectable()
export class LimiterService {
  private readonly turns: Turns;

  constructor(
    private readonly settings: RateLimitSettings,
    private readonly store: RateLimitStore,
    private readonly keys: CounterKeys,
  ) {
    this.turns = new Turns(settings.clock);
  }

  /** Charges `cost` if it fits. */
  async consume(policy: PolicyRef, key: KeyRef, { cost = 1 }: ConsumeOptions = {}) {
    return this.one('consume', { policy, key, cost });
  }

  /** Charges all or none, in one step. */
  async consumeAll(charges: readonly ChargeRequest[]): Promise<CombinedDecision> {
    if (!Array.isArray(charges) || charges.length === 0) {
      throw new RateLimitUsageError(mismatch(charges, 'an array of one charge or more'));
    }
    const decisions = await this.store.decide({
      verb: 'consume',
      charges: charges.map((charge) => this.chargeOf(charge)),
    });
    return {
      allowed: decisions.every(({ allowed }) => allowed),
      decisions,
      deciding: decisions.reduce((a, b) => (isTighter(b, a) ? b : a)),
    };
  }

  /** The answer `consume` would give now; nothing is charged. */
  async peek(policy: PolicyRef, key: KeyRef, { cost = 1 }: ConsumeOptions = {}) {
    return this.one('peek', { policy, key, cost });
  }

  /** Charges after the fact: never refused, may overdraw, and then later calls wait for it. */
  async charge(policy: PolicyRef, key: KeyRef, cost: number) {
    checkCost(cost);
    return this.one('charge', { policy, key, cost });
  }

  /** Gives back; never above full, and nothing of a window that is over. */
  async refund(policy: PolicyRef, key: KeyRef, cost: number) {
    checkCost(cost);
    return this.one('refund', { policy, key, cost });
  }

  /**
   * Waits for its turn: callers of one process in their order. Answers a refusal when that would
   * take longer than `maxWaitMs`, or for ever. A leaky bucket's delay has passed when this resolves.
   */
  async acquire(
    policy: PolicyRef,
    key: KeyRef,
    { cost = 1, maxWaitMs, signal }: AcquireOptions = {},
  ): Promise<Decision> {
    const charge = this.chargeOf({ policy, key, cost });
    const patience =
      maxWaitMs === undefined || maxWaitMs === 0
        ? (maxWaitMs ?? Infinity)
        : checkDuration(maxWaitMs, 'maxWaitMs', MAX_WINDOW_MS);
    return this.turns.take(charge, patience, signal, (verb) => this.decide(verb, charge));
  }

  /** Refuses a key for a time, such as `'15m'`, whatever is left of its quota. */
  async block(policy: PolicyRef, key: KeyRef, duration: Duration) {
    const cost = checkDuration(duration, 'duration', MAX_WINDOW_MS);
    return this.one('block', { policy, key, cost });
  }

  async unblock(policy: PolicyRef, key: KeyRef) {
    return this.one('unblock', { policy, key });
  }

  /** Forgets a key: its counter and its block. */
  async reset(policy: PolicyRef, key: KeyRef) {
    return this.one('reset', { policy, key });
  }

  private one(verb: Verb, request: ChargeRequest): Promise<Decision> {
    return this.decide(verb, this.chargeOf(request));
  }

  private async decide(verb: Verb, charge: Charge): Promise<Decision> {
    const [decision] = await this.store.decide({ verb, charges: [charge] });
    return decision!;
  }

  private chargeOf({ policy: ref, key, cost = 1 }: ChargeRequest): Charge {
    checkCost(cost);
    const { policy, scope, onStoreFailure } = this.policyOf(ref);
    const subject = this.subjectOf(key);
    return {
      policy,
      key: this.keys.key(counterSpace(policy, scope), subject),
      cost,
      onStoreFailure: onStoreFailure ?? this.settings.onStoreFailure,
    };
  }

  private policyOf(ref: PolicyRef): CountedPolicy {
    if (typeof ref !== 'string') return namedPolicy(ref);
    const { tiers } = this.settings;
    const tier = tiers.find(({ name }) => name === ref);
    if (tier === undefined) {
      const names = tiers.map(({ name }) => name);
      throw new RateLimitUsageError(
        `no tier of forRoot is named '${ref}'${didYouMean(ref, names)}; a policy object needs no tier`,
      );
    }
    if (tier.policy === undefined) {
      throw new RateLimitUsageError(
        `the numbers of tier '${ref}' depend on the request; pass { name: '${ref}', … } with the numbers`,
      );
    }
    return { policy: tier.policy, scope: '', onStoreFailure: tier.onStoreFailure };
  }

  private subjectOf(key: unknown): string {
    if (typeof key === 'string' && key !== '') return namedSubject(key);
    const { kind, id } = (typeof key === 'object' && key !== null ? key : {}) as Partial<Client>;
    if ((kind === 'api-key' || kind === 'user') && typeof id === 'string' && id !== '') {
      return subjectOf({ kind, id });
    }
    if (kind === 'ip') {
      // The id of an address that a tier counted has its prefix already.
      const prefix = this.settings.identity.ip?.ipv6Prefix ?? DEFAULT_IPV6_PREFIX;
      const address = canonicalIp(String(id).replace(`/${prefix}`, ''), prefix);
      if (address !== undefined) return subjectOf({ kind, id: address });
    }
    const expected = "a non-empty string, or a client such as { kind: 'user', id: '42' }";
    throw new RateLimitUsageError(`key: ${mismatch(key, expected)}`);
  }
}

/** A policy, what its counters belong to besides its name, and what holds while the store is away. */
interface CountedPolicy {
  readonly policy: Policy;
  readonly scope: string;
  readonly onStoreFailure?: FailurePolicy;
}

function namedPolicy(ref: NamedPolicy): CountedPolicy {
  if (typeof ref !== 'object' || ref === null || typeof ref.name !== 'string' || ref.name === '') {
    const expected = 'the name of a tier, or a policy with a name';
    throw new RateLimitConfigurationError('policy', mismatch(ref, expected));
  }
  const { name, scope, onStoreFailure, ...written } = ref;
  const option = `policy '${name}'`;
  const isText = 'policy' in written;
  if (isText) checkObject(written, option, ['policy']);
  return {
    policy: definePolicy(name, isText ? written.policy : written, option),
    scope: checkScope(scope, `${option}.scope`),
    ...(onStoreFailure !== undefined && {
      onStoreFailure: checkOneOf(onStoreFailure, `${option}.onStoreFailure`, FAILURE_POLICIES),
    }),
  };
}

function isTighter(a: Decision, b: Decision): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  return a.allowed ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs;
}
