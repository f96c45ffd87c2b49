import type { HttpHeader } from './rate-limit-headers.js';
import type { ReportedTier } from './reported-tier.js';
import { wholeSeconds } from './whole-seconds.js';

/**
 * When a refused client may come back: `Retry-After` in whole seconds, rounded up and at least 1,
 * and `retry-after-ms` in whole milliseconds. Nothing for Infinity: it would be refused for ever.
 */
export function retryHeaders(retryAfterMs: number): HttpHeader[] {
  if (!Number.isFinite(retryAfterMs)) return [];
  return [
    ['Retry-After', String(Math.max(1, wholeSeconds(retryAfterMs)))],
    ['retry-after-ms', String(Math.max(0, Math.ceil(retryAfterMs)))],
  ];
}

/** Milliseconds until every refusing tier lets the same request pass; 0 if none refuses. */
export function overallRetryAfterMs(tiers: readonly ReportedTier[]): number {
  const waits = tiers
    .filter(({ decision }) => !decision.allowed)
    .map(({ decision }) => decision.retryAfterMs);
  return Math.max(0, ...waits);
}
