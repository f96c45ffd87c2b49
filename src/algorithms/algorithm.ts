/** The largest whole number that a double tells apart from its neighbours. */
export const MAX = Number.MAX_SAFE_INTEGER;

/** A policy's numbers, checked and complete. Times are whole milliseconds. */
export interface PolicyNumbers {
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number;
  readonly maxDelayMs: number;
  /** `limit / windowMs` in lowest terms is `rate / unit`: a bucket moves `rate` units a millisecond… */
  readonly rate: number;
  /** …and one token is `unit` units. */
  readonly unit: number;
}

/** What is kept for one key. A law never changes it in place: a new state is made from an old one. */
export interface State {
  /** The time this state was made for; what a clock behind it is held up to. */
  readonly at: number;
}

/** A state that its only keeper changes. */
export type Kept<S extends State> = { -readonly [Name in keyof S]: S[Name] };

/**
 * One law: how a state moves with time, what a cost has to wait for, and what a charge leaves.
 * Pure: no clock, no store. What all laws share (a clock that goes back, cost 0, a cost over the
 * capacity, blocks) is in `account.ts`, so `now` is never before `state.at` here and `cost` is
 * between 1 and the capacity where `waitMs` is asked.
 *
 * `docs/algorithms.md` states each law in full.
 */
export interface Algorithm<S extends State = State> {
  /** Which of a policy's optional parameters this algorithm takes. */
  readonly parameters: readonly ('burst' | 'maxDelay')[];
  /** Whether a state is of one size, however much was charged. */
  readonly isOfOneSize: boolean;
  /** The burst of a policy that names none. */
  defaultBurst(limit: number): number;
  /** Why these numbers cannot be computed exactly, as a sentence, if they cannot. */
  problem(numbers: PolicyNumbers): string | undefined;
  /** The largest cost that can ever pass. */
  capacity(numbers: PolicyNumbers): number;
  /** The state as it stands at `now`; no state is a full quota. */
  advance(numbers: PolicyNumbers, state: S | undefined, now: number): S;
  /** The same amounts at another time, for a state that no clock we can trust has made. */
  moveTo(numbers: PolicyNumbers, state: S, now: number): S;
  /** Whether the numbers it was written with differ, so that its life must be written anew. */
  isOutdated(stored: S, advanced: S): boolean;
  /** Milliseconds until `cost` passes if nobody else asks; 0 when it passes now. */
  waitMs(numbers: PolicyNumbers, state: S, cost: number, now: number): number;
  /** How long an allowed caller waits for its turn. */
  delayMs(numbers: PolicyNumbers, state: S): number;
  /** The largest cost that would pass now. */
  remaining(numbers: PolicyNumbers, state: S, now: number): number;
  /** Milliseconds until the quota is full again. */
  resetAfterMs(numbers: PolicyNumbers, state: S, now: number): number;
  /** Milliseconds until a state, advanced or not, is full by the numbers it was written with. */
  lifeMs(numbers: PolicyNumbers, state: S, now: number): number;
  /** Charged whether it fits or not. */
  charge(numbers: PolicyNumbers, state: S, cost: number, now: number): S;
  /** Given back, never above full. */
  refund(numbers: PolicyNumbers, state: S, cost: number, now: number): S;
  /** What is to be kept of a new state: the one kept so far, changed in place, or else a copy. */
  keep(kept: Kept<S> | undefined, state: S): Kept<S>;
}

/** `floor(a / b)` and `ceil(a / b)` are exact in doubles for whole numbers up to 2^53. */
export function floorDiv(a: number, b: number): number {
  return Math.floor(a / b);
}

export function ceilDiv(a: number, b: number): number {
  return Math.ceil(a / b);
}
