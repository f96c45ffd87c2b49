import type { LimiterStatus } from './limiter-status.js';
import type { DecisionSource } from './stores/rate-limit.store.js';

/** `'would-refuse'`: a shadow tier's refusal, which refused nothing. */
export type DecisionOutcome = 'allowed' | 'refused' | 'would-refuse';

/** Decisions of one tier that ended alike. */
export interface DecisionCount {
  readonly tier: string;
  readonly outcome: DecisionOutcome;
  readonly source: DecisionSource;
  readonly count: number;
}

/** What has happened in this process since it started, as plain data. */
export interface MetricsSnapshot {
  /** One entry for each combination that has occurred, tier by tier. */
  readonly decisions: readonly DecisionCount[];
  /** Keys that were counted here while the store was away and have been charged there since. */
  readonly handedBack: number;
  /** How the store is, with its failures. */
  readonly status: LimiterStatus;
}
