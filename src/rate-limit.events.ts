import { EventEmitter } from 'node:events';
import { types } from 'node:util';
import { Injectable } from '@nestjs/common';
import { RateLimitLog } from './rate-limit.log.js';
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
  /** Once per tier of every request. What LimiterService decides is its caller's to tell. */
  decided: [decided: TierDecided];
  /** Once per change of the store's state: it went away, parts of it did, it is back. */
  store: [status: StoreStatus, previous: StoreStatus];
  /** What was admitted here while the store was away has been charged there: so many keys. */
  'handed-back': [keys: number];
}

/**
 * Events of the limiter: `events.on('store', (status) => …)`. Listeners run in the request, so they
 * should be short. What one throws, or rejects with, reaches the log and nobody else: no request and
 * no other listener.
 */
@Injectable()
export class RateLimitEvents extends EventEmitter<RateLimitEventMap> {
  constructor(private readonly log: RateLimitLog) {
    super();
  }

  /** As `emit`, and what listeners throw or reject with is logged. */
  tell<Name extends keyof RateLimitEventMap>(name: Name, ...args: RateLimitEventMap[Name]): void {
    if (this.listenerCount(name) === 0) return;
    for (const listener of this.rawListeners(name)) {
      try {
        const returned: unknown = Reflect.apply(listener, this, args);
        if (types.isPromise(returned)) {
          returned.catch((error: unknown) => this.log.listenerFailed(name, error));
        }
      } catch (error) {
        this.log.listenerFailed(name, error);
      }
    }
  }
}
