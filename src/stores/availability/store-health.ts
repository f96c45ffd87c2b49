import type { Clock } from '../../clock.js';
import type { FailurePolicy } from '../rate-limit.store.js';
import type { StoreErrorKind } from '../redis/store-error.js';

export type StoreState = 'up' | 'degraded' | 'down';

/** Why a call of the store failed, with no key and no secret in it. */
export interface StoreFailure {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

/** How the store is, and since when. Counts are of this process since it started. */
export interface StoreStatus {
  /** `'up'`; `'degraded'`: parts of a cluster are away; `'down'`: nothing is sent but probes. */
  readonly state: StoreState;
  /** Milliseconds for which it has been so. */
  readonly forMs: number;
  /** Why it is not up: the last failure. Absent while it is up. */
  readonly reason?: StoreFailure;
  /** Scripts, or calls of a store of your own, that failed, by kind. */
  readonly failures: Readonly<Partial<Record<StoreErrorKind, number>>>;
  /** Charges that a failure policy decided, by policy. */
  readonly failedOver: Readonly<Record<FailurePolicy, number>>;
}

export interface StoreHealthListener {
  /** Once per change of `state`. */
  changed(status: StoreStatus, previous: StoreStatus): void;
  /** At every failure. */
  failed(failure: StoreFailure): void;
}

/** What all gates of a store know together. */
export class StoreHealth {
  /** Whether or not it is up by now. */
  lastFailure: StoreFailure | undefined;
  private gates = 0;
  private away = 0;
  private since: number;
  private readonly failures: Partial<Record<StoreErrorKind, number>> = {};
  private readonly failedOver = { local: 0, open: 0, closed: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly listener?: StoreHealthListener,
  ) {
    this.since = clock.now();
  }

  get state(): StoreState {
    if (this.away === 0) return 'up';
    return this.away < this.gates ? 'degraded' : 'down';
  }

  get status(): StoreStatus {
    return {
      state: this.state,
      forMs: this.clock.now() - this.since,
      ...(this.away > 0 && this.lastFailure !== undefined && { reason: this.lastFailure }),
      failures: { ...this.failures },
      failedOver: { ...this.failedOver },
    };
  }

  /** A part of which nothing bad is known, so the rest is not all of the store. */
  gateMade(): void {
    this.change(() => this.gates++);
  }

  gateOpened(): void {
    this.change(() => this.away++);
  }

  gateClosed(): void {
    this.change(() => this.away--);
  }

  /** `isOpening`: the change that it makes tells of it, too. */
  failed(kind: StoreErrorKind, message: string, isOpening = false): void {
    this.failures[kind] = (this.failures[kind] ?? 0) + 1;
    this.lastFailure = { kind, message };
    if (!isOpening) this.listener?.failed(this.lastFailure);
  }

  decidedBy(policy: FailurePolicy): void {
    this.failedOver[policy]++;
  }

  private change(apply: () => void): void {
    const previous = this.status;
    apply();
    if (this.state === previous.state) return;
    this.since = this.clock.now();
    this.listener?.changed(this.status, previous);
  }
}
