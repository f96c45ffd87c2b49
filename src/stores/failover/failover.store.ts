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
import { refuses } from '../refuses.js';
import { closedDecision, openDecision } from '../uncounted-decision.js';
import type { LocalLimiter } from './local-limiter.js';

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

  private decided(
    { verb, charges }: Operation,
    decisions: readonly Decision[],
  ): readonly Decision[] {
    const { local } = this.options;
    if (verb === 'consume' && !refuses(decisions, charges)) local.noteAdmitted(charges, decisions);
    if (local.owed > 0) this.handBack();
    return decisions;
  }

  /** Closed charges refuse, open ones pass, local ones are decided here: together, all or none. */
  private decideAlone({ verb, charges }: Operation, error: unknown): Decision[] {
    const policies = charges.map((charge) => this.policyFor(charge));
    const local = charges.filter((_charge, index) => policies[index] === 'local');
    const isClosed = charges.some(
      (charge, index) => policies[index] === 'closed' && charge.isShadow !== true,
    );
    const decided = this.options.local.decide(
      verb === 'consume' && isClosed ? 'peek' : verb,
      local,
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

  /**
   * What was admitted here is charged once in the store, which is back. What may have been charged
   * is never charged again.
   */
  private handBack(): void {
    const now = this.options.clock.now();
    if (now < this.handBackAt) return;
    this.handBackAt = now + HAND_BACK_EVERY_MS;
    void this.handAllBack();
  }

  private async handAllBack(): Promise<void> {
    const { local, onHandedBack } = this.options;
    let keys = 0;
    let isOver = false;
    while (!isOver) {
      const debts = local.takeDebts(HANDED_BACK_AT_ONCE);
      const charged = await Promise.all(debts.map((debt) => this.chargeOnce(debt)));
      const done = charged.filter(Boolean).length;
      keys += done;
      isOver = done < debts.length || debts.length === 0;
    }
    if (keys > 0) onHandedBack?.(keys);
  }

  /** False when it is owed still. */
  private async chargeOnce(debt: Charge): Promise<boolean> {
    try {
      await this.options.store.decide({ verb: 'charge', charges: [debt] });
      return true;
    } catch (error) {
      if (mayHaveCharged(error)) return true;
      this.options.local.oweAgain(debt);
      return false;
    }
  }

  private policyFor({ onStoreFailure }: Charge): FailurePolicy {
    return onStoreFailure ?? this.options.onStoreFailure;
  }
}
