import type { Algorithm, PolicyNumbers, State } from './algorithm.js';
import { windowTraits } from './window.js';

/** The most that the log's packed Redis form counts: six bytes. */
const MAX_TOTAL = 2 ** 48 - 1;

/**
 * The newest entry is `at` and `total`; entry `i` of the older ones, from `first` up to `end`, was
 * made at `times[i]`. A total is the cost of all entries up to and with that one, so the cost of
 * any span is one subtraction and every search is binary. `before` is the total in front of the
 * first live entry; there is no entry when `total` is `before`.
 *
 * A state and the one made from it share their arrays: a charge writes beyond `end`, where the
 * older state does not look. So an older state reads right for ever, but only the newest may be
 * charged.
 */
export interface SlidingWindowLogState extends State {
  readonly total: number;
  readonly times: number[];
  readonly totals: number[];
  readonly first: number;
  readonly end: number;
  readonly before: number;
}

/** Exact: never more than `limit` in any span of one window. */
export const slidingWindowLog: Algorithm<SlidingWindowLogState> = {
  ...windowTraits,
  isOfOneSize: false,

  problem: ({ limit }) => (limit > MAX_TOTAL ? 'limit is over 2^48 − 1' : undefined),

  advance({ windowMs }, state, now) {
    const horizon = now - windowMs;
    if (state === undefined || state.at <= horizon) return empty(now);
    const first = firstAbove(state.times, horizon, state.first, state.end);
    return first === state.first ? state : { ...state, first, before: state.totals[first - 1]! };
  },

  moveTo(_numbers, state, now) {
    const by = now - state.at;
    return { ...state, at: now, times: state.times.map((time) => time + by) };
  },

  waitMs({ limit, windowMs }, state, cost, now) {
    const excess = used(state) + cost - limit;
    if (excess <= 0) return 0;
    const last = firstAbove(state.totals, state.before + excess - 1, state.first, state.end);
    const leaves = last < state.end ? state.times[last]! : state.at;
    return leaves + windowMs - now;
  },

  remaining: ({ limit }, state) => Math.max(0, limit - used(state)),

  resetAfterMs: untilOver,
  lifeMs: untilOver,

  charge(_numbers, state, cost, now) {
    const added = Math.min(cost, MAX_TOTAL - used(state));
    if (added === 0) return state;
    const { total, times, totals, first, end, before } = compacted(state);
    // Entries of one millisecond leave together, so they are kept as one.
    const hasOlder = total > before && state.at < now;
    if (hasOlder) {
      times.length = totals.length = end;
      times.push(state.at);
      totals.push(total);
    }
    const live = hasOlder ? end + 1 : end;
    return { at: now, total: total + added, times, totals, first, end: live, before };
  },

  refund(_numbers, state, cost) {
    const left = used(state) - cost;
    if (left <= 0) return empty(state.at);
    const total = state.before + left;
    const newest = firstAbove(state.totals, total - 1, state.first, state.end);
    return newest < state.end
      ? { ...state, at: state.times[newest]!, total, end: newest }
      : { ...state, total };
  },

  keep: (kept, state) => Object.assign(kept ?? {}, state),
};

const used = (state: SlidingWindowLogState): number => state.total - state.before;

function untilOver({ windowMs }: PolicyNumbers, state: SlidingWindowLogState, now: number): number {
  return used(state) > 0 ? state.at + windowMs - now : 0;
}

const empty = (at: number): SlidingWindowLogState => ({
  at,
  total: 0,
  times: [],
  totals: [],
  first: 0,
  end: 0,
  before: 0,
});

/** Drops what has left once it is most of the arrays, and long before the totals reach 2^53. */
function compacted(state: SlidingWindowLogState): SlidingWindowLogState {
  const { first, end, before } = state;
  if ((first <= 32 || first * 2 <= end) && before < 8 * MAX_TOTAL) return state;
  return {
    at: state.at,
    total: state.total - before,
    times: state.times.slice(first, end),
    totals: state.totals.slice(first, end).map((total) => total - before),
    first: 0,
    end: end - first,
    before: 0,
  };
}

/** The first index in `[from, to)` whose value is above `bound`; `to` when none is. Values ascend. */
function firstAbove(values: readonly number[], bound: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
