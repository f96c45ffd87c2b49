import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { monotonicClock } from './clock.js';
import type { LimiterStatus, StoreKind } from './limiter-status.js';
import { RateLimitEvents } from './rate-limit.events.js';
import { RateLimitLog } from './rate-limit.log.js';
import { StoreHealth, type StoreFailure } from './stores/availability/store-health.js';

const SUMMARY_EVERY_MS = 60_000;
/** Three outages. What comes and goes more often than that is told by the summary. */
const CHANGES_TOLD_A_MINUTE = 6;

/** The store that is watched. */
export interface WatchedStore {
  readonly kind: StoreKind;
  /** Keys that are owed to it. Default: none. */
  readonly owed?: () => number;
  /** Asks it, whatever is between it and requests, and changes nothing. Default: it cannot be away. */
  readonly probe?: () => Promise<unknown>;
}

/**
 * Tells operators how the store is: a line at each change, one a minute while it is not up or still
 * fails now and then, none per request.
 */
@Injectable()
export class StoreWatch implements OnApplicationShutdown {
  readonly health: StoreHealth;
  // Whoever replaces the module's store has a store of his own.
  private store: WatchedStore = { kind: 'custom' };
  private probing: Promise<void> | undefined;
  private changes = 0;
  private failedOver = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly events: RateLimitEvents,
    private readonly log: RateLimitLog,
  ) {
    this.health = new StoreHealth(monotonicClock, {
      changed: (status, previous) => {
        this.changes++;
        const isLastTold = this.changes === CHANGES_TOLD_A_MINUTE;
        if (this.changes <= CHANGES_TOLD_A_MINUTE) {
          this.log.storeChanged(status, previous, isLastTold);
        }
        this.events.tell('store', status, previous);
      },
      failed: (failure) => this.failed(failure),
    });
    this.timer = setInterval(() => this.summarize(), SUMMARY_EVERY_MS).unref();
  }

  get status(): LimiterStatus {
    const { kind, owed } = this.store;
    return { store: kind, ...this.health.status, owed: owed?.() ?? 0 };
  }

  watch(store: WatchedStore): void {
    this.store = store;
  }

  /** One at a time, whoever asks for it. Its outcome is in `status`. */
  probe(): Promise<void> {
    this.probing ??= this.askStore().finally(() => {
      this.probing = undefined;
    });
    return this.probing;
  }

  handedBack(keys: number): void {
    this.log.handedBack(keys);
    this.events.tell('handed-back', keys);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async askStore(): Promise<void> {
    try {
      await this.store.probe?.();
    } catch {
      // The store's gate has counted it.
    }
  }

  /** While it is not up, probes that fail are no news. */
  private failed(failure: StoreFailure): void {
    if (this.health.state === 'up') this.log.storeFailed(failure);
  }

  private summarize(): void {
    const { status, lastFailure } = this.health;
    const { local, open, closed } = status.failedOver;
    const failedOver = local + open + closed - this.failedOver;
    const { changes } = this;
    this.failedOver += failedOver;
    this.changes = 0;
    const isFlapping = changes > CHANGES_TOLD_A_MINUTE;
    if (status.state === 'up' && failedOver === 0 && !isFlapping) return;
    this.log.storeSummary(status, { failedOver, changes, lastFailure });
  }
}
