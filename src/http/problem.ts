import { formatDuration } from '../policies/duration.js';
import { isCounted } from './reported-tier.js';
import type { ReportedTier } from './reported-tier.js';
import { wholeSeconds } from './whole-seconds.js';

/** Media type of `ProblemBody` (RFC 9457). */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

export interface Refusal {
  /** 429 when a tier refuses, 503 when a tier fails closed. */
  readonly status: 429 | 503;
  /** The tiers that refuse. */
  readonly violated: readonly ReportedTier[];
  /** Milliseconds until the same request passes; Infinity if it never will. */
  readonly retryAfterMs: number;
}

/** The default body of a refusal: problem details, and the two fields of Nest's own errors. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: 429 | 503;
  /** For people: which tier refused and when to come back. */
  readonly detail: string;
  /** Names of the tiers that refused. */
  readonly 'violated-policies': readonly string[];
  /** Whole milliseconds until the same request passes; absent if it never will. */
  readonly retryAfterMs?: number;
  /** Equals `status`. */
  readonly statusCode: 429 | 503;
  /** Equals `detail`. */
  readonly message: string;
}

// Types and titles are those of the IETF draft "RateLimit header fields for HTTP".
const PROBLEMS = {
  429: {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
  },
  503: {
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
  },
} as const;

/** Says what was refused and nothing about the store or its errors. */
export function problemBody({ status, violated, retryAfterMs }: Refusal): ProblemBody {
  const detail = `${status === 429 ? exceeded(violated) : UNAVAILABLE} ${advice(retryAfterMs)}`;
  return {
    ...PROBLEMS[status],
    status,
    detail,
    'violated-policies': violated.map(({ name }) => name),
    ...(Number.isFinite(retryAfterMs) && { retryAfterMs: Math.max(0, Math.ceil(retryAfterMs)) }),
    statusCode: status,
    message: detail,
  };
}

const UNAVAILABLE = 'The rate limiter is temporarily unavailable.';

function exceeded(violated: readonly ReportedTier[]): string {
  const allowances = violated.filter(isCounted).map(allowance);
  if (allowances.length === 0) return 'Rate limit exceeded.';
  return `Rate limit exceeded: ${allowances.join(' and ')}.`;
}

function allowance({ name, windowMs, cost, decision }: ReportedTier): string {
  const allows = `tier '${name}' allows`;
  const window = `per ${formatDuration(windowMs)}`;
  if (cost === 1) return `${allows} ${count(decision.limit, 'request')} ${window}`;
  return `${allows} ${count(decision.limit, 'unit')} ${window} and this request costs ${cost}`;
}

function advice(retryAfterMs: number): string {
  if (!Number.isFinite(retryAfterMs)) return 'Trying the same request again will not help.';
  return `Try again in ${count(Math.max(1, wholeSeconds(retryAfterMs)), 'second')}.`;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
