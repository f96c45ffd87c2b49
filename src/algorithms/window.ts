import type { Algorithm, PolicyNumbers } from './algorithm.js';

/** The start of the epoch-aligned window that `now` is in. */
export function windowStart(numbers: PolicyNumbers, now: number): number {
  return now - (now % numbers.windowMs);
}

/** What the windows have in common: the limit is the capacity, nobody waits in a queue. */
export const windowTraits = {
  parameters: [],
  isOfOneSize: true,
  defaultBurst: (limit: number) => limit,
  capacity: (numbers: PolicyNumbers) => numbers.limit,
  delayMs: () => 0,
  isOutdated: () => false,
} satisfies Partial<Algorithm>;
