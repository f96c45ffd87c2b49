import { asPromise } from '../identity/as-promise.js';
import { tuple } from '../identity/tuple.js';
import { algorithms } from '../algorithms/registry.js';
import { parseDuration } from '../policies/duration.js';
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

  /**
   * The policy for a request; a promise only when a resolver answers one. Throws or rejects as
   * resolvers do, and when they answer what no policy can have.
   */
  policyFor(context: RateLimitContext): Policy | Promise<Policy> {
    if (this.policy !== undefined) return this.policy;
    const { limit, window, burst, maxDelay } = this.written!;
    const numbers = [limit, window, burst, maxDelay].map((number) =>
      typeof number === 'function' ? number(context) : number,
    );
    if (numbers.every((number) => asPromise(number) === undefined)) return this.policyWith(numbers);
    return Promise.all(numbers.map((number) => Promise.resolve(number))).then((known) =>
      this.policyWith(known),
    );
  }

  /**
   * The space of all that it counts, where that is one for every request, as it is unless the window
   * depends on it, and each counter is of one size.
   */
  get steadySpace(): string | undefined {
    const { name, policy, written, scope } = this;
    const algorithm = policy?.algorithm ?? written!.algorithm;
    if (!algorithms[algorithm].isOfOneSize) return undefined;
    if (policy !== undefined) return this.space(policy);
    const { window } = written!;
    if (typeof window === 'function') return undefined;
    return counterSpace({ name, algorithm, windowMs: parseDuration(window) }, scope);
  }

  private policyWith(numbers: readonly unknown[]): Policy {
    const id = numbers.map((number) => `${typeof number} ${String(number)}`).join();
    const known = this.dynamic.get(id);
    if (known !== undefined) return known;
    const [limit, window, burst, maxDelay] = numbers as [
      PolicyOptions['limit'],
      PolicyOptions['window'],
      PolicyOptions['burst'],
      PolicyOptions['maxDelay'],
    ];
    const { algorithm } = this.written!;
    const options: PolicyOptions = { algorithm, limit, window };
    if (burst !== undefined) options.burst = burst;
    if (maxDelay !== undefined) options.maxDelay = maxDelay;
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

export function counterSpace(
  { name, algorithm, windowMs }: Pick<Policy, 'name' | 'algorithm' | 'windowMs'>,
  scope: string,
): string {
  return tuple(name, scope, algorithm, String(windowMs));
}
