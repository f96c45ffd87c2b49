import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { monotonicClock } from './clock.js';
import { RateLimitEvents } from './rate-limit.events.js';
import { RateLimitLog } from './rate-limit.log.js';
import { StoreHealth, type StoreStatus } from './stores/availability/store-health.js';

const SUMMARY_EVERY_MS = 60_000;

/**
 * Tells operators how the store is: a line at each change, one a minute while it is not up or still
 * fails now and then, none per request.
 */
@Injectable()
export class StoreWatch implements OnApplicationShutdown {
  readonly health: StoreHealth;
  private summarized: StoreStatus;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly events: RateLimitEvents,
    private readonly log: RateLimitLog,
  ) {
    this.health = new StoreHealth(monotonicClock, {
      changed: (status, previous) => {
        this.log.storeChanged(status, previous);
        this.events.emit('store', status, previous);
      },
      failed: (reason) => this.log.storeFailed(reason),
    });
    this.summarized = this.health.status;
    this.timer = setInterval(() => this.summarize(), SUMMARY_EVERY_MS).unref();
  }

  handedBack(keys: number): void {
    this.log.handedBack(keys);
    this.events.emit('handed-back', keys);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private summarize(): void {
    const { status } = this.health;
    const charges = total(status.failedOver) - total(this.summarized.failedOver);
    if (status.state !== 'up' || charges > 0) this.log.storeSummary(status, charges);
    this.summarized = status;
  }
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
