import { MAX, ceilDiv, floorDiv, type Kept, type PolicyNumbers, type State } from './algorithm.js';

/**
 * Token bucket, GCRA and leaky bucket move by `rate` whole units a millisecond; one token is `unit`
 * units, so no amount is ever rounded.
 */
export interface BucketState extends State {
  /** Units: a level (token bucket) or a backlog (GCRA, leaky bucket). */
  readonly amount: number;
  /** Units to a token when `amount` was written. */
  readonly unit: number;
  /** Milliseconds from `at` to a full quota, under the numbers it was written with. */
  readonly fullAfter: number;
}

/** `burst` in units. */
export function capacityUnits(numbers: PolicyNumbers): number {
  return numbers.burst * numbers.unit;
}

/** What the buckets have in common: the burst is the capacity. */
export const bucketTraits = {
  isOfOneSize: true,
  problem(numbers: PolicyNumbers): string | undefined {
    if (numbers.burst > floorDiv(MAX, numbers.unit)) {
      return `burst × ${numbers.unit} (units a token: window over its common divisor with limit) is over 2^53 − 1`;
    }
    return undefined;
  },
  capacity: (numbers: PolicyNumbers): number => numbers.burst,
  moveTo: <S extends BucketState>(_numbers: PolicyNumbers, state: S, now: number): S => ({
    ...state,
    at: now,
  }),
  isOutdated: (stored: BucketState, advanced: BucketState): boolean =>
    stored.unit !== advanced.unit ||
    stored.fullAfter - (advanced.at - stored.at) !== advanced.fullAfter,
  lifeMs: (_numbers: PolicyNumbers, state: BucketState, now: number): number =>
    state.fullAfter - (now - state.at),
  resetAfterMs: (numbers: PolicyNumbers, state: BucketState): number =>
    numbers.rate === 0 ? 0 : state.fullAfter,
  keep(
    kept: Kept<BucketState> | undefined,
    { at, amount, unit, fullAfter }: BucketState,
  ): Kept<BucketState> {
    if (kept === undefined) return { at, amount, unit, fullAfter };
    kept.at = at;
    kept.amount = amount;
    kept.unit = unit;
    kept.fullAfter = fullAfter;
    return kept;
  },
};

/**
 * `amount · to / from`, rounded up or down, kept within ±MAX. By BigInt, because the product can
 * pass 2^53; only a policy whose numbers changed comes here.
 */
export function rescale(amount: number, from: number, to: number, round: 'up' | 'down'): number {
  if (from === to) return amount;
  const product = BigInt(amount) * BigInt(to);
  const divisor = BigInt(from);
  const rest = ((product % divisor) + divisor) % divisor;
  const scaled = (product - rest) / divisor + (round === 'up' && rest > 0n ? 1n : 0n);
  return Math.max(-MAX, Math.min(MAX, Number(scaled)));
}

/** `amount + cost · unit`, stopped at `most`, without the product passing 2^53 on the way. */
export function plusTokens(amount: number, cost: number, unit: number, most: number): number {
  return cost > floorDiv(most - amount, unit) ? most : amount + cost * unit;
}

/** `amount − cost · unit`, stopped at `least`. */
export function minusTokens(amount: number, cost: number, unit: number, least: number): number {
  return cost > floorDiv(amount - least, unit) ? least : amount - cost * unit;
}

/** Milliseconds for `units` to flow; never, at a rate of 0. */
export function flowMs(units: number, rate: number): number {
  return units <= 0 ? 0 : ceilDiv(units, rate);
}
