import { Injectable } from '@nestjs/common';
import { globalSubject, namedSubject, subjectOf, type Client } from './identity/client.js';
import { CounterKeys } from './identity/counter-keys.js';
import { NO_ADDRESS } from './identity/request-identity.js';
import { RecentMap } from './recent-map.js';
import { checkObject, checkOneOf } from './policies/checks.js';
import { RateLimitConfigurationError, mismatch } from './policies/configuration-error.js';
import { definePolicy } from './policies/define-policy.js';
import { didYouMean } from './policies/nearest.js';
import type { Policy, PolicyOptions, PolicyText } from './policies/policy.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RateLimitUsageError, checkCost } from './stores/check-cost.js';
import type { Charge, FailurePolicy, Operation } from './stores/rate-limit.store.js';
import { FAILURE_POLICIES, checkScope } from './tiers/check-tier.js';
import { counterSpace } from './tiers/tier.js';

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
 * `{ kind: 'api-key', id: 'customer-1' }` or `{ kind: 'global' }`.
 */
export type KeyRef = string | Pick<Client, 'kind' | 'id'> | { readonly kind: 'global' };

export interface ChargeRequest {
  policy: PolicyRef;
  key: KeyRef;
  cost?: number;
}

const KINDS: ReadonlySet<string> = new Set(['api-key', 'user', 'ip', 'global']);

/** Different policies that an app is expected to write at a time. */
const REMEMBERED_POLICIES = 1_000;
const REMEMBERED_KEYS = 10_000;
const REMEMBERED_LENGTH = 512;

/** What LimiterService's callers write → the charge that a store takes. */
@Injectable()
export class ServiceCharges {
  private readonly known = new RecentMap<string, CountedPolicy>(REMEMBERED_POLICIES);
  private readonly tiers = new Map<string, CountedPolicy>();

  constructor(
    private readonly settings: RateLimitSettings,
    private readonly keys: CounterKeys,
  ) {}

  /** Throws a RateLimitUsageError or a RateLimitConfigurationError for what no charge can be. */
  chargeOf(ref: PolicyRef, key: KeyRef, cost = 1): Charge {
    checkCost(cost);
    const charge = this.consumeOne(this.policyOf(ref), key).charges[0]!;
    return cost === 1 ? charge : { ...charge, cost };
  }

  /** A `consume` of it, which most calls are. Throws what `chargeOf` throws. */
  consumeOf(ref: PolicyRef, key: KeyRef, cost = 1): Operation {
    if (cost !== 1) return { verb: 'consume', charges: [this.chargeOf(ref, key, cost)] };
    return this.consumeOne(this.policyOf(ref), key);
  }

  /** Of a cost of 1. */
  private consumeOne(counted: CountedPolicy, key: KeyRef): Operation {
    const { known } = counted;
    if (typeof key !== 'string') return this.newConsume(counted, key);
    let operation = known?.get(key);
    if (operation === undefined) {
      operation = this.newConsume(counted, key);
      if (key.length <= REMEMBERED_LENGTH) known?.set(key, operation);
    }
    return operation;
  }

  private newConsume({ policy, space, onStoreFailure }: CountedPolicy, name: KeyRef): Operation {
    const { key, shared } = this.keys.counter(space, this.subjectOf(name));
    const charge = { policy, key, shared, memo: { found: undefined }, cost: 1, onStoreFailure };
    return { verb: 'consume', charges: [charge], memo: { found: undefined } };
  }

  private policyOf(ref: PolicyRef): CountedPolicy {
    if (typeof ref !== 'string') return this.knownPolicy(ref);
    const counted = this.tiers.get(ref);
    if (counted !== undefined) return counted;
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
    const made = {
      policy: tier.policy,
      space: tier.space(tier.policy),
      onStoreFailure: tier.onStoreFailure,
      known: new RecentMap<string, Operation>(REMEMBERED_KEYS),
    };
    this.tiers.set(ref, made);
    return made;
  }

  /** With the name of a tier it would count together with it, under numbers of its own. */
  private checkName({ policy, space }: CountedPolicy): void {
    const { name, text } = policy;
    const tier = this.settings.tiers.find((other) => other.name === name);
    if (tier?.policy === undefined || tier.policy.text === text) return;
    if (tier.space(tier.policy) !== space) return;
    throw new RateLimitUsageError(
      `policy '${name}' is ${text}, and the tier of that name is ${tier.policy.text}: expected ` +
        `'${name}' alone, a scope, or another name`,
    );
  }

  /** A policy is written anew with each call, and is checked and made once for what it says. */
  private knownPolicy(ref: NamedPolicy): CountedPolicy {
    const id = contentOf(ref);
    const known = id === undefined ? undefined : this.known.get(id);
    if (known !== undefined) return known;
    const policy = this.namedPolicy(ref);
    this.checkName(policy);
    if (id !== undefined) this.known.set(id, policy);
    return policy;
  }

  private namedPolicy(ref: NamedPolicy): CountedPolicy {
    if (
      typeof ref !== 'object' ||
      ref === null ||
      typeof ref.name !== 'string' ||
      ref.name === ''
    ) {
      const expected = 'the name of a tier, or a policy with a name';
      throw new RateLimitConfigurationError('policy', mismatch(ref, expected));
    }
    const { name, scope, onStoreFailure, ...written } = ref;
    const option = `policy '${name}'`;
    const isText = 'policy' in written;
    if (isText) checkObject(written, option, ['policy']);
    const policy = definePolicy(name, isText ? written.policy : written, option);
    return {
      policy,
      space: counterSpace(policy, checkScope(scope, `${option}.scope`)),
      onStoreFailure:
        onStoreFailure === undefined
          ? this.settings.onStoreFailure
          : checkOneOf(onStoreFailure, `${option}.onStoreFailure`, FAILURE_POLICIES),
    };
  }

  private subjectOf(key: unknown): string {
    if (typeof key === 'string' && key !== '') return namedSubject(key);
    const { kind, id } = (typeof key === 'object' && key !== null ? key : {}) as Partial<Client>;
    if ((kind === 'api-key' || kind === 'user') && typeof id === 'string' && id !== '') {
      return subjectOf({ kind, id });
    }
    if ((kind as string) === 'global') return globalSubject;
    if (kind === 'ip') {
      const { addresses } = this.settings.identity;
      // The id of an address that a tier counted has its prefix already.
      const client =
        id === NO_ADDRESS.id ? NO_ADDRESS : addresses.clientAt(String(id).replace(/\/\d+$/, ''));
      if (client !== undefined) return subjectOf(client);
    }
    const expected = "a non-empty string, or a client such as { kind: 'user', id: '42' }";
    // An id, or what was written in its place, may be somebody's secret.
    if (kind === undefined) throw new RateLimitUsageError(`key: ${mismatch(key, expected)}`);
    const wrong = KINDS.has(kind)
      ? `a client of kind '${kind}' whose id is ${kind === 'ip' ? 'no address' : typeof id}`
      : 'a client of another kind than api-key, user, ip or global';
    throw new RateLimitUsageError(`key: received ${wrong}, expected ${expected}`);
  }
}

/** A policy, what its counters belong to besides its name, and what holds while the store is away. */
interface CountedPolicy {
  readonly policy: Policy;
  /** What is counted under it, apart from who. */
  readonly space: string;
  readonly onStoreFailure: FailurePolicy;
  /** What names that were asked for lately consume at a cost of 1. */
  readonly known?: RecentMap<string, Operation>;
}

/** What an object says, in its own order; undefined when it holds more than text and numbers. */
function contentOf(ref: unknown): string | undefined {
  if (typeof ref !== 'object' || ref === null) return undefined;
  let content = '';
  for (const [name, value] of Object.entries(ref)) {
    if (typeof value === 'string') content += `${name}=${value.length}:${value};`;
    else if (typeof value === 'number') content += `${name}=${value};`;
    else return undefined;
  }
  return content;
}
