import { Injectable } from '@nestjs/common';
import { LimiterService } from './limiter.service.js';
import type { DecisionCount, MetricsSnapshot } from './metrics-snapshot.js';
import { prometheusText } from './prometheus-text.js';
import { RateLimitEvents, type TierDecided } from './rate-limit.events.js';

interface Count extends DecisionCount {
  count: number;
}

/**
 * Counts decisions by tier, outcome and source. It costs nothing unless it is used: it counts from
 * when the app starts where a module of the app has it among its `providers`, once. Its labels are
 * names of tiers and words of this library, so their number is bounded and nobody is identified.
 */
@Injectable()
export class RateLimitMetrics {
  /** What `prometheus()` is to be sent as. */
  static readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';

  private readonly tiers = new Map<string, Count[]>();
  private handedBack = 0;

  constructor(
    events: RateLimitEvents,
    private readonly limiter: LimiterService,
  ) {
    events.on('decided', (decided) => this.count(decided));
    events.on('handed-back', (keys) => {
      this.handedBack += keys;
    });
  }

  snapshot(): MetricsSnapshot {
    return {
      decisions: [...this.tiers.values()].flat().map((count) => ({ ...count })),
      handedBack: this.handedBack,
      status: this.limiter.status(),
    };
  }

  /** The snapshot in Prometheus' text format 0.0.4. */
  prometheus(): string {
    return prometheusText(this.snapshot());
  }

  private count({ tier, isShadow, decision: { allowed, source } }: TierDecided): void {
    const refused = isShadow ? 'would-refuse' : 'refused';
    const outcome = allowed ? 'allowed' : refused;
    let counts = this.tiers.get(tier);
    if (counts === undefined) {
      counts = [];
      this.tiers.set(tier, counts);
    }
    for (const known of counts) {
      if (known.source === source && known.outcome === outcome) {
        known.count++;
        return;
      }
    }
    counts.push({ tier, outcome, source, count: 1 });
  }
}
