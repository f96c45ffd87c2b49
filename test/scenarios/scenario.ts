import type { ModelDecision, ModelPolicy } from '../model/model.js';
import type { Step } from '../model/trace.js';

/** One key's life, with every field of every answer worked out by hand. */
export interface Scenario {
  readonly name: string;
  readonly policies: readonly ModelPolicy[];
  readonly steps: readonly (Step & { readonly expect: ModelDecision })[];
}

/** Times are milliseconds from here: the start of an hour, so the edge of most windows. */
export const HOUR_START = 1_760_000_400_000;

export const HOUR = 3_600_000;
export const MINUTE = 60_000;
export const SECOND = 1000;
export const MAX = Number.MAX_SAFE_INTEGER;
export const NEVER = Infinity;

/** `amount` is the cost, or the duration of a block. */
export type Row = readonly [
  at: number,
  op: Step['op'],
  amount: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAfterMs: number,
  delayMs?: number,
  policy?: number,
];

export function scenario(
  name: string,
  policies: readonly ModelPolicy[],
  rows: readonly Row[],
): Scenario {
  return { name, policies, steps: rows.map(step) };
}

function step(row: Row): Scenario['steps'][number] {
  const [at, op, amount, allowed, remaining, retryAfterMs, resetAfterMs] = row;
  const [delayMs = 0, policy = 0] = [row[7], row[8]];
  return {
    op,
    policy,
    cost: op === 'block' ? 0 : amount,
    durationMs: op === 'block' ? amount : 0,
    t: HOUR_START + at,
    expect: { allowed, remaining, retryAfterMs, resetAfterMs, delayMs },
  };
}
