import { floorDiv, type Algorithm, type PolicyNumbers } from './algorithm.js';

/** The start of the epoch-aligned window that `now` is in. */
export function windowStart({ windowMs }: PolicyNumbers, now: number): number {
  // Doubles divide faster than they leave a remainder.
  return floorDiv(now, windowMs) * windowMs;
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
