import type { Clock } from '../../clock.js';
import { mayHaveCharged } from '../availability/may-have-charged.js';
import type { StoreHealth } from '../availability/store-health.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type FailurePolicy,
  type Operation,
} from '../rate-limit.store.js';
import { closedDecision, openDecision } from '../uncounted-decision.js';
import type { Debt, LocalLimiter } from './local-limiter.js';

export interface FailoverOptions {
  /** Rejects in time when it is away. */
  readonly store: RateLimitStore;
  /** What stands in for it: its decisions carry the source `'fallback'`. */
  readonly local: LocalLimiter;
  /** For charges that name none. */
  readonly onStoreFailure: FailurePolicy;
  readonly health: StoreHealth;
  readonly clock: Clock;
  /** Told how many keys were handed back, after each time that some were. */
  readonly onHandedBack?: (keys: number) => void;
}

/** Debts charged at the same time, so that handing back is no storm of its own. */
const HANDED_BACK_AT_ONCE = 256;
/** A part of a cluster may stay away while the rest answers. */
const HAND_BACK_EVERY_MS = 1_000;

/**
 * A store around a store: what the store does not decide each charge's failure policy decides. A
 * refusal is an answer, not a failure.
 */
export class FailoverStore extends RateLimitStore {
  private handBackAt = -Infinity;

  constructor(private readonly options: FailoverOptions) {
    super();
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    return this.options.store.decide(operation).then(
      (decisions) => this.decided(operation, decisions),
      (error: unknown) => this.decideAlone(operation, error),
    );
  }

  override close(): Promise<void> {
    return this.options.store.close();
  }

  private decided(operation: Operation, decisions: readonly Decision[]): readonly Decision[] {
    const { local } = this.options;
    local.noteDecided(operation, decisions);
    if (local.owed > 0 && isOfStore(decisions)) this.handBack();
    return decisions;
  }

  /** Closed charges refuse, open ones pass, local ones are decided here: together, all or none. */
  private decideAlone({ verb, charges }: Operation, error: unknown): Decision[] {
    const policies = charges.map((charge) => this.policyFor(charge));
    this.options.local.order(verb, charges);
    const local = charges.filter((_charge, index) => policies[index] === 'local');
    const isClosed = charges.some(
      (charge, index) => policies[index] === 'closed' && charge.isShadow !== true,
    );
    const decided = this.decideLocally(
      { verb: verb === 'consume' && isClosed ? 'peek' : verb, charges: local },
      !mayHaveCharged(error),
    );
    let next = 0;
    return charges.map(({ policy }, index) => {
      const by = policies[index]!;
      this.options.health.decidedBy(by);
      if (by === 'local') return decided[next++]!;
      return by === 'open' ? openDecision(policy) : closedDecision(policy);
    });
  }

  /** The last word is here: where even this fails, it is a refusal, and no error of the app's. */
  private decideLocally({ verb, charges }: Operation, isOwed: boolean): readonly Decision[] {
    try {
      return this.options.local.decide(verb, charges, isOwed);
    } catch (error) {
      this.options.health.failed('bug', String(error));
      return charges.map(({ policy }) => closedDecision(policy));
    }
  }

  /**
   * The store, which is back, is told what keys were to be meanwhile, and charged once what was
   * admitted here. What may have been charged is never charged again.
   */
  private handBack(): void {
    const now = this.options.clock.now();
    if (now < this.handBackAt) return;
    this.handBackAt = now + HAND_BACK_EVERY_MS;
    void this.handAllBack();
  }

  private async handAllBack(): Promise<void> {
    const { local, onHandedBack, store } = this.options;
    let keys = 0;
    let isOver = !(await local.tellOrders((operation) => store.decide(operation)));
    // No further than a failure: the store may be away again, and lose each debt that it is told.
    while (!isOver) {
      const debts = local.takeDebts(HANDED_BACK_AT_ONCE);
      const charged = await Promise.all(debts.map((debt) => this.chargeOnce(debt)));
      const done = charged.filter(Boolean).length;
      keys += done;
      isOver = done < debts.length || debts.length === 0;
    }
    if (keys > 0) onHandedBack?.(keys);
  }

  /** Whether it was surely charged; it stays owed when it surely was not. */
  private async chargeOnce(debt: Debt): Promise<boolean> {
    try {
      await this.options.store.decide({ verb: 'charge', charges: [debt.charge] });
      return true;
    } catch (error) {
      if (!mayHaveCharged(error)) this.options.local.oweAgain(debt);
      return false;
    }
  }

  private policyFor({ onStoreFailure }: Charge): FailurePolicy {
    return onStoreFailure ?? this.options.onStoreFailure;
  }
}

/** What was kept of its refusals says nothing of whether it is there. */
function isOfStore(decisions: readonly Decision[]): boolean {
  return decisions.some(({ source }) => source !== 'denied-cache');
}
