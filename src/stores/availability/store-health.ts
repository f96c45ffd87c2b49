import type { Clock } from '../../clock.js';
import type { FailurePolicy } from '../rate-limit.store.js';
import type { StoreErrorKind } from '../redis/store-error.js';

/** How the store is, and since when. Counts are of this process since it started. */
export interface StoreStatus {
  /** `'up'`; `'degraded'`: parts of a cluster are away; `'down'`: nothing is sent but probes. */
  readonly state: 'up' | 'degraded' | 'down';
  /** Milliseconds for which it has been so. */
  readonly forMs: number;
  /** Why it is not up: the class of the last error and its message, with no key and no secret in it. */
  readonly reason?: { readonly kind: StoreErrorKind; readonly message: string };
  /** Scripts, or calls of a store of your own, that failed, by class. */
  readonly failures: Readonly<Partial<Record<StoreErrorKind, number>>>;
  /** Charges that a failure policy decided, by policy. */
  readonly failedOver: Readonly<Record<FailurePolicy, number>>;
}

export interface StoreHealthListener {
  /** Once per change of `state`. */
  changed(status: StoreStatus, previous: StoreStatus): void;
  /** At every failure. */
  failed(reason: NonNullable<StoreStatus['reason']>): void;
}

/** What all gates of a store know together. */
export class StoreHealth {
  private gates = 0;
  private away = 0;
  private since: number;
  private reason: StoreStatus['reason'];
  private readonly failures: Partial<Record<StoreErrorKind, number>> = {};
  private readonly failedOver = { local: 0, open: 0, closed: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly listener?: StoreHealthListener,
  ) {
    this.since = clock.now();
  }

  get status(): StoreStatus {
    return {
      state: this.away === 0 ? 'up' : this.away < this.gates ? 'degraded' : 'down',
      forMs: this.clock.now() - this.since,
      ...(this.away > 0 && this.reason !== undefined && { reason: this.reason }),
      failures: { ...this.failures },
      failedOver: { ...this.failedOver },
    };
  }

  gateMade(): void {
    this.gates++;
  }

  gateOpened(): void {
    this.change(1);
  }

  gateClosed(): void {
    this.change(-1);
  }

  failed(kind: StoreErrorKind, message: string): void {
    this.failures[kind] = (this.failures[kind] ?? 0) + 1;
    this.reason = { kind, message };
    this.listener?.failed(this.reason);
  }

  decidedBy(policy: FailurePolicy): void {
    this.failedOver[policy]++;
  }

  private change(by: number): void {
    const previous = this.status;
    this.away += by;
    if (this.status.state === previous.state) return;
    this.since = this.clock.now();
    this.listener?.changed(this.status, previous);
  }
}
