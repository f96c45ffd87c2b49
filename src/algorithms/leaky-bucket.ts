import type { Algorithm } from './algorithm.js';
import { flowMs, type BucketState } from './bucket.js';
import { gcra } from './gcra.js';

/** GCRA whose callers are held until what was ahead of them has drained: a queue with an end. */
export const leakyBucket: Algorithm<BucketState> = {
  ...gcra,
  parameters: ['burst', 'maxDelay'],
  defaultBurst: (limit) => limit,

  delayMs: ({ rate }, { amount }) => flowMs(amount, rate),

  waitMs(numbers, state, cost, now) {
    const overdueMs = flowMs(state.amount, numbers.rate) - numbers.maxDelayMs;
    return Math.max(overdueMs, gcra.waitMs(numbers, state, cost, now));
  },

  remaining(numbers, state, now) {
    const delayMs = flowMs(state.amount, numbers.rate);
    return delayMs > numbers.maxDelayMs ? 0 : gcra.remaining(numbers, state, now);
  },
};
