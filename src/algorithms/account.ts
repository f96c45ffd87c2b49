import type { Algorithm, PolicyNumbers, State } from './algorithm.js';

/** What a store keeps for one key. No state is a full quota; 0 is no block. */
export interface Account {
  readonly state: State | undefined;
  readonly blockedUntil: number;
}

/** An account as it stands at the moment of a question. */
export interface Standing {
  readonly state: State;
  /** The moment its law works with: the clock's, or the state's when the clock is behind it. */
  readonly now: number;
  /** How far the clock that was asked is behind `now`. */
  readonly behindMs: number;
  /** The rest of a block; 0 when there is none. */
  readonly blockedMs: number;
  /** Whether even a refusal writes it back, because its time or its life has to be put right. */
  readonly needsRepair: boolean;
}

/** The account at `clock`: time never goes back for it, and never waits for a clock far behind. */
export function standingAt(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  account: Account,
  clock: number,
): Standing {
  let { state } = account;
  const isFromTheFuture = state !== undefined && state.at - clock > numbers.windowMs;
  if (state !== undefined && isFromTheFuture) state = algorithm.moveTo(numbers, state, clock);
  const now = state !== undefined && state.at > clock ? state.at : clock;
  const advanced = algorithm.advance(numbers, state, now);
  const hasChanged =
    isFromTheFuture || (state !== undefined && algorithm.isOutdated(state, advanced));
  return {
    state: advanced,
    now,
    behindMs: now - clock,
    blockedMs: account.blockedUntil > clock ? account.blockedUntil - clock : 0,
    // A full quota has nothing to put right, and writing it would forget what other numbers hold.
    needsRepair: hasChanged && algorithm.resetAfterMs(numbers, advanced, now) > 0,
  };
}

/** The account without what says nothing any more: a state that is full again, a block that is over. */
export function trimmed(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  { state, blockedUntil }: Account,
  clock: number,
): Account {
  return {
    state: stateLifeMs(algorithm, numbers, state, clock) > 0 ? state : undefined,
    blockedUntil: blockedUntil > clock ? blockedUntil : 0,
  };
}

/** Milliseconds for which an account has to be kept; 0 when it is as good as absent. */
export function lifeMs(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  { state, blockedUntil }: Account,
  clock: number,
): number {
  return Math.max(stateLifeMs(algorithm, numbers, state, clock), blockedUntil - clock, 0);
}

function stateLifeMs(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  state: State | undefined,
  clock: number,
): number {
  if (state === undefined) return 0;
  const now = Math.max(clock, state.at);
  const restMs = algorithm.lifeMs(numbers, state, now);
  return restMs > 0 ? restMs + now - clock : 0;
}

/** Milliseconds until `cost` passes, 0 when it passes now, Infinity when it never does. */
export function waitMs(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  standing: Standing,
  cost: number,
): number {
  if (cost === 0) return 0;
  if (cost > algorithm.capacity(numbers)) return Infinity;
  const wait = algorithm.waitMs(numbers, standing.state, cost, standing.now);
  return Math.max(wait > 0 ? wait + standing.behindMs : 0, standing.blockedMs);
}

/** The largest cost that would pass now. */
export function remaining(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  standing: Standing,
): number {
  return standing.blockedMs > 0 ? 0 : algorithm.remaining(numbers, standing.state, standing.now);
}

/** Milliseconds until the whole quota is free again. */
export function resetAfterMs(
  algorithm: Algorithm,
  numbers: PolicyNumbers,
  standing: Standing,
): number {
  const reset = algorithm.resetAfterMs(numbers, standing.state, standing.now);
  return Math.max(reset > 0 ? reset + standing.behindMs : 0, standing.blockedMs);
}
