import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { LimiterStatus } from '../limiter-status.js';
import { LimiterService } from '../limiter.service.js';
import { checkObject, checkOneOf } from '../policies/checks.js';

const UNHEALTHY_WHEN = ['down', 'degraded', 'never'] as const;

export interface RateLimitHealthOptions {
  /**
   * From which state of the store on the check fails: `'degraded'`, when parts of a cluster are away
   * or all is; `'never'`, for apps that `onStoreFailure` keeps in service. Default `'down'`.
   */
  readonly unhealthyWhen?: 'down' | 'degraded' | 'never';
}

/**
 * Tells `@nestjs/terminus` how the store is: `() => health.isHealthy('rate-limit')`. List it among a
 * module's `providers`. Each check asks the store, in `timeoutMs` at most, so that an app without
 * requests finds out too that it has gone, or has come back. What counts in process is always up.
 */
@Injectable()
export class RateLimitHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly limiter: LimiterService,
  ) {}

  /** Answers with `store`, `state`, `forMs` and the kind of failure; never with its message. */
  async isHealthy<Key extends string>(
    key: Key,
    options: RateLimitHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    checkObject(options, 'isHealthy', ['unhealthyWhen']);
    const { unhealthyWhen = 'down' } = options;
    checkOneOf(unhealthyWhen, 'unhealthyWhen', UNHEALTHY_WHEN);
    const status = await this.limiter.probe();
    const { store, state, forMs, reason } = status;
    const details = { store, state, forMs, ...(reason !== undefined && { reason: reason.kind }) };
    const session = this.indicators.check(key);
    if (isUnhealthy(status, unhealthyWhen)) return session.down(details);
    // Terminus 11 knows no third state, and leaves out what has one.
    if (state === 'up' || !('degraded' in session)) return session.up(details);
    return session.degraded(details);
  }
}

function isUnhealthy({ state }: LimiterStatus, when: (typeof UNHEALTHY_WHEN)[number]): boolean {
  if (when === 'never') return false;
  return state === 'down' || state === when;
}
