/** 2^53 − 1: where amounts stop. */
export const MAX = 2n ** 53n - 1n;

/**
 * What one key has used, as one algorithm counts it, together with the numbers of the policy it is
 * counted by. Counters never change; every method answers with another one.
 */
export abstract class Counter {
  /** The time the counter was made for; the clock never runs behind it. */
  abstract readonly stored: bigint;

  /** The same amounts, made for `t` instead: a clock far behind. */
  abstract movedTo(t: bigint): Counter;

  /** The counter once the clock has run on to `now`, which is never before `stored`. */
  abstract standingAt(now: bigint): Counter;

  abstract passes(cost: bigint): boolean;

  abstract isFull(): boolean;

  abstract charged(cost: bigint): Counter;

  abstract refunded(cost: bigint): Counter;

  /** How long the next caller waits for its turn. */
  delayMs(): bigint {
    return 0n;
  }
}

export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
