import { MAX, floorDiv, type Algorithm, type PolicyNumbers } from './algorithm.js';
import {
  bucketTraits,
  capacityUnits,
  flowMs,
  minusTokens,
  plusTokens,
  rescale,
  type BucketState,
} from './bucket.js';

/** A bucket of `burst` tokens that `limit` a window refill; bursts pass, then the rate holds. */
export const tokenBucket: Algorithm<BucketState> = {
  ...bucketTraits,
  parameters: ['burst'],
  defaultBurst: (limit) => limit,
  delayMs: () => 0,

  advance(numbers, state, now) {
    const capacity = capacityUnits(numbers);
    if (state === undefined || now - state.at >= state.fullAfter) {
      return withLevel(numbers, capacity, now);
    }
    if (numbers.rate === 0) return state;
    const level = Math.max(rescale(state.amount, state.unit, numbers.unit, 'down'), capacity - MAX);
    const elapsed = now - state.at;
    const isFull = elapsed >= flowMs(capacity - level, numbers.rate);
    return withLevel(numbers, isFull ? capacity : level + elapsed * numbers.rate, now);
  },

  waitMs({ rate, unit }, { amount }, cost) {
    return flowMs(cost * unit - amount, rate);
  },

  remaining: ({ rate, unit }, { amount }) => (rate === 0 ? 0 : Math.max(0, floorDiv(amount, unit))),

  charge(numbers, state, cost, now) {
    if (numbers.rate === 0) return state;
    const least = capacityUnits(numbers) - MAX;
    return withLevel(numbers, minusTokens(state.amount, cost, numbers.unit, least), now);
  },

  refund(numbers, state, cost, now) {
    if (numbers.rate === 0) return state;
    const most = capacityUnits(numbers);
    return withLevel(numbers, plusTokens(state.amount, cost, numbers.unit, most), now);
  },
};

function withLevel(numbers: PolicyNumbers, amount: number, now: number): BucketState {
  const fullAfter = flowMs(capacityUnits(numbers) - amount, numbers.rate);
  return { at: now, amount, unit: numbers.unit, fullAfter };
}
