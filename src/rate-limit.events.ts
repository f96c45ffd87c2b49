import { EventEmitter } from 'node:events';
import { Injectable, Logger } from '@nestjs/common';
import type { StoreStatus } from './stores/availability/store-health.js';
import type { Decision } from './stores/rate-limit.store.js';

/** A tier's decision of one request. */
export interface TierDecided {
  /** Name of the tier. */
  readonly tier: string;
  /** A shadow tier refuses nothing. */
  readonly isShadow: boolean;
  /** Units that the request asked for. */
  readonly cost: number;
  readonly decision: Decision;
}

/** What an app can listen to, by name. No event holds a key, an identity or a secret. */
export interface RateLimitEventMap {
  /** Once per tier of every request. */
  decided: [TierDecided];
  /** Once per change of the store's state: it went away, parts of it did, it is back. */
  store: [status: StoreStatus, previous: StoreStatus];
  /** What was admitted here while the store was away has been charged there: so many keys. */
  'handed-back': [keys: number];
}

/**
 * Events of the limiter: `events.on('store', (status) => …)`. Listeners run in the request, so they
 * should be short; what they throw is thrown to nobody but the log.
 */
@Injectable()
export class RateLimitEvents extends EventEmitter<RateLimitEventMap> {
  private readonly logger = new Logger('RateLimit');

  override emit<Name extends keyof RateLimitEventMap>(
    name: Name,
    ...args: RateLimitEventMap[Name]
  ): boolean {
    try {
      return super.emit<Name>(name, ...(args as never));
    } catch (error) {
      this.logger.error(`a listener of '${name}' threw: ${String(error)}`);
      return true;
    }
  }
}
