import { MAX, type Algorithm, type PolicyNumbers, type State } from './algorithm.js';
import { windowStart, windowTraits } from './window.js';

export interface FixedWindowState extends State {
  /** Start of the window. */
  readonly at: number;
  readonly used: number;
}

/** At most `limit` in each epoch-aligned window. The cheapest; up to 2 × limit across an edge. */
export const fixedWindow: Algorithm<FixedWindowState> = {
  ...windowTraits,

  problem: () => undefined,

  advance(numbers, state, now) {
    const at = windowStart(numbers, now);
    return state !== undefined && state.at === at ? state : { at, used: 0 };
  },

  moveTo: (numbers, state, now) => ({ ...state, at: windowStart(numbers, now) }),

  waitMs(numbers, state, cost, now) {
    return cost <= numbers.limit - state.used ? 0 : state.at + numbers.windowMs - now;
  },

  remaining: (numbers, state) => Math.max(0, numbers.limit - state.used),

  resetAfterMs: untilOver,
  lifeMs: untilOver,

  charge: (_numbers, state, cost) => ({
    at: state.at,
    used: cost > MAX - state.used ? MAX : state.used + cost,
  }),

  refund: (_numbers, state, cost) => ({ at: state.at, used: Math.max(0, state.used - cost) }),

  keep(kept, { at, used }) {
    if (kept === undefined) return { at, used };
    kept.at = at;
    kept.used = used;
    return kept;
  },
};

function untilOver(
  { windowMs }: PolicyNumbers,
  { at, used }: FixedWindowState,
  now: number,
): number {
  return used > 0 ? at + windowMs - now : 0;
}
