import { withDeadline } from '../deadline.js';
import { shareOf } from '../policies/define-policy.js';
import type { Policy } from '../policies/policy.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type FailurePolicy,
  type Operation,
} from './rate-limit.store.js';
import { MemoryStore } from './memory/memory.store.js';
import { closedDecision, openDecision } from './uncounted-decision.js';

export interface FailoverOptions {
  readonly store: RateLimitStore;
  /** What stands in for it: its decisions carry the source `'fallback'`. */
  readonly fallback: MemoryStore;
  readonly timeoutMs: number;
  readonly instances: number;
  /** For charges that name none. */
  readonly onStoreFailure: FailurePolicy;
  /** Told when the store goes away, with the reason, and when it is back. */
  readonly onTransition: (error: Error | undefined) => void;
}

/**
 * A store around a store: every call has its own deadline, and what the store does not decide each
 * charge's failure policy decides. A refusal is an answer, not a failure.
 */
export class FailoverStore extends RateLimitStore {
  private readonly shares = new WeakMap<Policy, Policy>();
  private isAway = false;

  constructor(private readonly options: FailoverOptions) {
    super();
  }

  override async decide(operation: Operation): Promise<readonly Decision[]> {
    const { store, timeoutMs } = this.options;
    try {
      const decisions = await withDeadline(store.decide(operation), timeoutMs, 'the store');
      if (decisions.length !== operation.charges.length) {
        throw new Error(
          `the store answered ${decisions.length} decisions for ${operation.charges.length} charges`,
        );
      }
      // What was only remembered says nothing of the store.
      const isFromStore = decisions.every(({ source }) => source !== 'denied-cache');
      if (this.isAway && isFromStore) this.setAway(undefined);
      return decisions;
    } catch (error) {
      if (!this.isAway) this.setAway(error instanceof Error ? error : new Error(String(error)));
      return this.decideAlone(operation);
    }
  }

  override close(): Promise<void> {
    return this.options.store.close();
  }

  private setAway(error: Error | undefined): void {
    this.isAway = error !== undefined;
    this.options.onTransition(error);
  }

  /** Closed charges refuse, open ones pass, local ones are decided here: together, all or none. */
  private decideAlone({ verb, charges }: Operation): Decision[] {
    const local = charges.filter((charge) => this.policyFor(charge) === 'local');
    const isClosed = charges.some(
      (charge) => this.policyFor(charge) === 'closed' && charge.isShadow !== true,
    );
    const decided = this.options.fallback.decideNow({
      verb: verb === 'consume' && isClosed ? 'peek' : verb,
      charges: local.map((charge) => ({ ...charge, policy: this.share(charge.policy) })),
    });
    return charges.map((charge) => {
      switch (this.policyFor(charge)) {
        case 'local':
          return decided[local.indexOf(charge)]!;
        case 'open':
          return openDecision(charge.policy);
        case 'closed':
          return closedDecision(charge.policy);
      }
    });
  }

  private policyFor({ onStoreFailure }: Charge): FailurePolicy {
    return onStoreFailure ?? this.options.onStoreFailure;
  }

  private share(policy: Policy): Policy {
    let share = this.shares.get(policy);
    if (share === undefined) {
      share = shareOf(policy, this.options.instances);
      this.shares.set(policy, share);
    }
    return share;
  }
}
