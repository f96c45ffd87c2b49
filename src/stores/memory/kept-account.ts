import { lifeMs, remaining, standingAt, type Account } from '../../algorithms/account.js';
import type { Kept, State } from '../../algorithms/algorithm.js';
import type { Policy } from '../../policies/policy.js';

/** An account in a map, and the policy that it was last counted by. */
export class KeptAccount implements Account {
  constructor(
    /** The map that it is in; none when it has been forgotten. */
    public keeper: object | undefined,
    public policy: Policy,
    public state: Kept<State> | undefined,
    public blockedUntil: number,
    /** Counts for many keys. */
    private readonly isOverflow: boolean,
  ) {}

  /** Whether it is as good as absent. */
  isOver(now: number): boolean {
    return lifeMs(this.policy.law, this.policy, this, now) === 0;
  }

  /**
   * Part of the quota that is free, 0 to 1; what forgetting it would give away is the rest. Of an
   * overflow that is all or nothing: a flood would renew it again and again.
   */
  freePart(now: number): number {
    const { policy, isOverflow } = this;
    const capacity = policy.law.capacity(policy);
    if (isOverflow || capacity === 0) return this.isOver(now) ? 1 : 0;
    return remaining(policy.law, policy, standingAt(policy.law, policy, this, now)) / capacity;
  }
}
