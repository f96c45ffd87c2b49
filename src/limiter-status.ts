import type { StoreStatus } from './stores/availability/store-health.js';

/** `'custom'`: a store of the app's own; `'none'`: the module is not enabled and counts nothing. */
export type StoreKind = 'redis' | 'memory' | 'custom' | 'none';

/**
 * How the limiter of this process is, as plain data. What counts in this process, or nothing, is
 * always up.
 */
export interface LimiterStatus extends StoreStatus {
  /** Where counters live. */
  readonly store: StoreKind;
  /** Keys that were counted here while the store was away, and are yet to be charged there. */
  readonly owed: number;
}
