/** What the HTTP layer tells a client about one tier of a request. */
export interface ReportedTier {
  /** The tier's name: a structured-field string, checked at boot. */
  readonly name: string;
  /** Length of the policy's window in whole milliseconds. */
  readonly windowMs: number;
  /** Units that this request uses. */
  readonly cost: number;
  readonly decision: {
    readonly allowed: boolean;
    /** Units allowed per window. */
    readonly limit: number;
    /** The largest cost that would pass now. */
    readonly remaining: number;
    /** Milliseconds until the same cost passes; 0 when allowed, Infinity when it never will. */
    readonly retryAfterMs: number;
    /** Milliseconds to a full quota. */
    readonly resetAfterMs: number;
    readonly source: string;
  };
}

/** Nothing was counted for a tier that failed open or closed, so its numbers mean nothing. */
export function isCounted({ decision }: ReportedTier): boolean {
  return decision.source !== 'open' && decision.source !== 'closed';
}
