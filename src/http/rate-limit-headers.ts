import { isCounted } from './reported-tier.js';
import type { ReportedTier } from './reported-tier.js';
import { structuredFieldInteger, structuredFieldString } from './structured-field.js';
import { wholeSeconds } from './whole-seconds.js';

/**
 * A way to tell clients about their quota: the customary `X-RateLimit-*`, or a revision of the IETF
 * draft "RateLimit header fields for HTTP" (`draft-8` is read the same up to revision 11).
 */
export type HeaderFamily = 'x-ratelimit' | 'draft-6' | 'draft-7' | 'draft-8';

export type HttpHeader = [name: string, value: string];

export interface HeaderClock {
  /** Wall-clock time in whole milliseconds since the epoch. */
  readonly nowMs: number;
  /** `X-RateLimit-Reset` in seconds since the epoch or from now; drafts always count from now. */
  readonly reset: 'epoch' | 'delta';
}

/**
 * The quota headers of one response, on 200 and on 429. Families with one value describe the
 * tightest tier, `draft-8` lists every tier. A tier that failed open or closed is left out, and
 * with no other tier there are no headers. Each name comes once: where families share one, the
 * first family wins (`conflictingFamilies` finds that at boot).
 */
export function rateLimitHeaders(
  families: readonly HeaderFamily[],
  tiers: readonly ReportedTier[],
  clock: HeaderClock,
): HttpHeader[] {
  const counted = tiers.every(isCounted) ? tiers : tiers.filter(isCounted);
  let [tightest] = counted;
  if (tightest === undefined) return [];
  for (const tier of counted) if (isTighter(tier, tightest)) tightest = tier;
  if (families.length === 1) return render[families[0]!](tightest, counted, clock);
  const headers: HttpHeader[] = [];
  for (const family of families) {
    for (const header of render[family](tightest, counted, clock)) {
      if (!headers.some(([name]) => name === header[0])) headers.push(header);
    }
  }
  return headers;
}

/** Two families that use one header name for different values, if there are such. */
export function conflictingFamilies(
  families: readonly HeaderFamily[],
): [HeaderFamily, HeaderFamily] | undefined {
  if (!families.includes('draft-8')) return undefined;
  const older = families.find((family) => family === 'draft-6' || family === 'draft-7');
  return older === undefined ? undefined : [older, 'draft-8'];
}

/** A refusing tier before an allowing one, then what keeps the client waiting longest. */
function isTighter({ decision: a }: ReportedTier, { decision: b }: ReportedTier): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return a.resetAfterMs > b.resetAfterMs;
}

type Render = (
  tightest: ReportedTier,
  tiers: readonly ReportedTier[],
  clock: HeaderClock,
) => HttpHeader[];

const render: Readonly<Record<HeaderFamily, Render>> = {
  'x-ratelimit': (tier, _tiers, { nowMs, reset }) => [
    ['X-RateLimit-Limit', limit(tier)],
    ['X-RateLimit-Remaining', remaining(tier)],
    ['X-RateLimit-Reset', resetSeconds(tier, reset === 'epoch' ? nowMs : 0)],
  ],
  'draft-6': (tier) => [
    ['RateLimit-Limit', limit(tier)],
    ['RateLimit-Remaining', remaining(tier)],
    ['RateLimit-Reset', resetSeconds(tier)],
    ['RateLimit-Policy', `${limit(tier)};w=${windowSeconds(tier)}`],
  ],
  'draft-7': (tier) => [
    [
      'RateLimit',
      `limit=${limit(tier)}, remaining=${remaining(tier)}, reset=${resetSeconds(tier)}`,
    ],
    ['RateLimit-Policy', `${limit(tier)};w=${windowSeconds(tier)}`],
  ],
  'draft-8': (_tightest, tiers) => [
    ['RateLimit', list(tiers, (tier) => `r=${remaining(tier)};t=${resetSeconds(tier)}`)],
    ['RateLimit-Policy', list(tiers, (tier) => `q=${limit(tier)};w=${windowSeconds(tier)}`)],
  ],
};

function list(tiers: readonly ReportedTier[], parameters: (tier: ReportedTier) => string): string {
  return tiers.map((tier) => `${structuredFieldString(tier.name)};${parameters(tier)}`).join(', ');
}

function limit({ decision }: ReportedTier): string {
  return structuredFieldInteger(decision.limit);
}

function remaining({ decision }: ReportedTier): string {
  return structuredFieldInteger(decision.remaining);
}

/** A refused client wants to know when to come back, an admitted one when its quota is full. */
function resetSeconds({ decision }: ReportedTier, sinceMs = 0): string {
  const { allowed, retryAfterMs, resetAfterMs } = decision;
  const waits = !allowed && Number.isFinite(retryAfterMs);
  return structuredFieldInteger(wholeSeconds(sinceMs + (waits ? retryAfterMs : resetAfterMs)));
}

function windowSeconds({ windowMs }: ReportedTier): string {
  return structuredFieldInteger(Math.max(1, wholeSeconds(windowMs)));
}
