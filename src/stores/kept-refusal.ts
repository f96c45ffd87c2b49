import type { Charge, Decision } from './rate-limit.store.js';

/** When it was asked and answered, by the clock of this process. */
interface Times {
  readonly sentAt: number;
  readonly repliedAt: number;
  readonly maxLifeMs: number;
}

/** A list of charges that was refused, and what was said of each. */
export class KeptRefusal {
  /** From here on the store is asked again. */
  readonly until: number;
  private readonly repliedAt: number;

  constructor(
    readonly charges: readonly Charge[],
    private readonly decisions: readonly Decision[],
    { sentAt, repliedAt, maxLifeMs }: Times,
    /** The changes of keys that were known when it was asked. */
    readonly turn: number,
  ) {
    const waits = decisions
      .filter(({ allowed }) => !allowed)
      .map((refused) => refused.retryAfterMs);
    // The store's milliseconds began after the call was sent; they are whole on both clocks, so the
    // last one may be shorter than ours.
    this.until = Math.min(sentAt + Math.min(...waits) - 1, repliedAt + maxLifeMs);
    this.repliedAt = repliedAt;
  }

  /** Whether each verdict stands for other costs of the same list: what is dearer does not fit either. */
  covers(charges: readonly Charge[]): boolean {
    return this.decisions.every(({ allowed, remaining }, index) => {
      const { cost } = charges[index]!;
      return allowed ? cost <= remaining : cost >= this.charges[index]!.cost;
    });
  }

  /** Whether the waits stand too. */
  isExactFor(charges: readonly Charge[]): boolean {
    return this.decisions.every(({ allowed }, index) => {
      const charge = charges[index]!;
      return allowed || charge.cost === this.charges[index]!.cost || isOverCapacity(charge);
    });
  }

  hasCostsOf({ charges }: KeptRefusal): boolean {
    return this.charges.every(({ cost }, index) => cost === charges[index]!.cost);
  }

  /** The decisions with their times counted down, and the rest as it stood. */
  answer(charges: readonly Charge[], now: number): Decision[] {
    const elapsedMs = now - this.repliedAt;
    return this.decisions.map((decision, index) => {
      const charge = charges[index]!;
      const retryAfterMs = isOverCapacity(charge) ? Infinity : decision.retryAfterMs - elapsedMs;
      return {
        ...decision,
        policy: charge.policy.name,
        retryAfterMs: decision.allowed ? 0 : retryAfterMs,
        resetAfterMs: Math.max(0, decision.resetAfterMs - elapsedMs),
        source: 'denied-cache',
      };
    });
  }
}

function isOverCapacity({ policy, cost }: Charge): boolean {
  return cost > policy.law.capacity(policy);
}
