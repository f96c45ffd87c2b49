import { tuple } from '../identity/counter-keys.js';
import { RecentMap } from '../recent-map.js';
import { definePolicy } from '../policies/define-policy.js';
import type { Policy, PolicyOptions } from '../policies/policy.js';
import type { FailurePolicy } from '../stores/rate-limit.store.js';
import type { RateLimitContext, Resolvable } from './rate-limit-context.js';
import type { CountedBy, Phase, TierPolicy } from './tier-options.js';

/** Different numbers that a tier's resolvers are expected to answer at a time, such as plans. */
const REMEMBERED_POLICIES = 1_000;

/** A checked tier. What does not depend on the request is worked out once. */
export class Tier {
  /** Whether any of it is a function, which is given the client. */
  readonly isDynamic: boolean;
  private readonly dynamic = new RecentMap<string, Policy>(REMEMBERED_POLICIES);
  private readonly spaces = new WeakMap<Policy, string>();

  constructor(
    readonly name: string,
    readonly by: CountedBy,
    readonly phase: Phase,
    readonly isShadow: boolean,
    readonly onStoreFailure: FailurePolicy,
    readonly cost: Resolvable<number>,
    readonly skip: ((context: RateLimitContext) => boolean | Promise<boolean>) | undefined,
    /** The policy, when it is the same for every request. */
    readonly policy: Policy | undefined,
    private readonly written: TierPolicy | undefined,
    /** What its counters belong to: a route, a shared scope, or nothing for a tier of the module. */
    private readonly scope: string,
  ) {
    this.isDynamic =
      policy === undefined || [by, cost, skip].some((part) => typeof part === 'function');
  }

  /** The policy for a request. Rejects when a resolver does, or answers what no policy can have. */
  async policyFor(context: RateLimitContext): Promise<Policy> {
    if (this.policy !== undefined) return this.policy;
    const { algorithm, limit, window, burst, maxDelay } = this.written!;
    const numbers = await Promise.all([
      resolve(limit, context),
      resolve(window, context),
      burst === undefined ? undefined : resolve(burst, context),
      maxDelay === undefined ? undefined : resolve(maxDelay, context),
    ]);
    const id = numbers.map((number) => `${typeof number} ${String(number)}`).join();
    const known = this.dynamic.get(id);
    if (known !== undefined) return known;
    const options: PolicyOptions = { algorithm, limit: numbers[0], window: numbers[1] };
    if (numbers[2] !== undefined) options.burst = numbers[2];
    if (numbers[3] !== undefined) options.maxDelay = numbers[3];
    const policy = definePolicy(this.name, options, `tier '${this.name}'`);
    this.dynamic.set(id, policy);
    return policy;
  }

  /**
   * What its counters are told apart by. The algorithm and the window are in it, so that changing
   * them starts afresh; the limit is not, so that changing it holds for what is counted already.
   */
  space(policy: Policy): string {
    let space = this.spaces.get(policy);
    if (space === undefined) {
      space = counterSpace(policy, this.scope);
      this.spaces.set(policy, space);
    }
    return space;
  }
}

export function counterSpace(policy: Policy, scope: string): string {
  return tuple(policy.name, scope, policy.algorithm, String(policy.windowMs));
}

async function resolve<T extends string | number | boolean>(
  value: Resolvable<T>,
  context: RateLimitContext,
): Promise<T> {
  return typeof value === 'function' ? value(context) : value;
}
