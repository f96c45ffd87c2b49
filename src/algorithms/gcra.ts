import { MAX, ceilDiv, floorDiv, type Algorithm, type PolicyNumbers } from './algorithm.js';
import {
  bucketTraits,
  capacityUnits,
  flowMs,
  minusTokens,
  plusTokens,
  rescale,
  type BucketState,
} from './bucket.js';

/**
 * The generic cell rate algorithm (ITU-T I.371), told as the backlog of a queue that `limit` a
 * window drain: what is ahead of a theoretical arrival time. `burst: 1` is strict spacing.
 */
export const gcra: Algorithm<BucketState> = {
  ...bucketTraits,
  parameters: ['burst'],
  defaultBurst: (limit) => ceilDiv(limit, 10),
  delayMs: () => 0,

  advance(numbers, state, now) {
    if (state === undefined || now - state.at >= state.fullAfter) {
      return withBacklog(numbers, 0, now);
    }
    if (numbers.rate === 0) return state;
    const backlog = rescale(state.amount, state.unit, numbers.unit, 'up');
    const elapsed = now - state.at;
    const isEmpty = elapsed >= flowMs(backlog, numbers.rate);
    return withBacklog(numbers, isEmpty ? 0 : backlog - elapsed * numbers.rate, now);
  },

  waitMs(numbers, { amount }, cost) {
    return flowMs(amount - (capacityUnits(numbers) - cost * numbers.unit), numbers.rate);
  },

  remaining(numbers, { amount }) {
    if (numbers.rate === 0) return 0;
    return Math.max(0, floorDiv(capacityUnits(numbers) - amount, numbers.unit));
  },

  charge(numbers, state, cost, now) {
    if (numbers.rate === 0) return state;
    return withBacklog(numbers, plusTokens(state.amount, cost, numbers.unit, MAX), now);
  },

  refund(numbers, state, cost, now) {
    if (numbers.rate === 0) return state;
    return withBacklog(numbers, minusTokens(state.amount, cost, numbers.unit, 0), now);
  },
};

function withBacklog(numbers: PolicyNumbers, amount: number, now: number): BucketState {
  return { at: now, amount, unit: numbers.unit, fullAfter: flowMs(amount, numbers.rate) };
}
