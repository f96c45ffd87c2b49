import { MAX, floorDiv, type Algorithm, type PolicyNumbers, type State } from './algorithm.js';
import { windowStart, windowTraits } from './window.js';

export interface SlidingWindowCounterState extends State {
  /** Start of the current window. */
  readonly at: number;
  readonly previous: number;
  readonly current: number;
}

/**
 * The window before counts by the share of it that is still within one window of now.
 * All comparisons are of whole numbers times the window, so nothing is rounded; sums are split so
 * that no side passes 2^53.
 */
export const slidingWindowCounter: Algorithm<SlidingWindowCounterState> = {
  ...windowTraits,

  problem({ limit, windowMs }) {
    return limit > floorDiv(MAX, windowMs) ? 'limit × window (in ms) is over 2^53 − 1' : undefined;
  },

  advance(numbers, state, now) {
    const at = windowStart(numbers, now);
    if (state !== undefined) {
      if (state.at === at) return state;
      if (state.at === at - numbers.windowMs) return { at, previous: state.current, current: 0 };
    }
    return { at, previous: 0, current: 0 };
  },

  moveTo: (numbers, state, now) => ({ ...state, at: windowStart(numbers, now) }),

  waitMs({ limit, windowMs }, { at, previous, current }, cost, now) {
    const untilEdge = at + windowMs - now;
    const room = limit - current - cost;
    if (room >= 0) {
      if (previous * untilEdge <= room * windowMs) return 0;
      // Passes within this window once previous · (time to the edge) has shrunk to room · window.
      const share = floorDiv(room * windowMs, previous);
      if (share > 0) return untilEdge - share;
    }
    if (current === 0) return untilEdge;
    // In the next window current has become previous, and nothing is current yet.
    return untilEdge + Math.max(0, windowMs - floorDiv((limit - cost) * windowMs, current));
  },

  remaining({ limit, windowMs }, { at, previous, current }, now) {
    if (current >= limit) return 0;
    const weighed = previous * (at + windowMs - now);
    return Math.max(0, floorDiv((limit - current) * windowMs - weighed, windowMs));
  },

  resetAfterMs: untilOver,
  lifeMs: untilOver,

  charge({ windowMs }, { at, previous, current }, cost) {
    const most = floorDiv(MAX, windowMs);
    return { at, previous, current: cost > most - current ? most : current + cost };
  },

  refund: (_numbers, state, cost) => ({ ...state, current: Math.max(0, state.current - cost) }),

  keep(kept, { at, previous, current }) {
    if (kept === undefined) return { at, previous, current };
    kept.at = at;
    kept.previous = previous;
    kept.current = current;
    return kept;
  },
};

function untilOver(
  { windowMs }: PolicyNumbers,
  { at, previous, current }: SlidingWindowCounterState,
  now: number,
): number {
  if (current > 0) return at + 2 * windowMs - now;
  return previous > 0 ? at + windowMs - now : 0;
}
