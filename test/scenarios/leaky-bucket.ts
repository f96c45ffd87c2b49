import type { ModelPolicy } from '../model/model.js';
import { HOUR, NEVER, scenario, SECOND, type Scenario } from './scenario.js';

export const leakyBucket: readonly Scenario[] = [
  // One request a 100 ms drains; ten fit, and nobody waits longer than 500 ms.
  scenario(
    'tells each caller to wait for its turn',
    [perSecond(10, 500)],
    [
      [0, 'consume', 1, true, 9, 0, 100, 0],
      [0, 'consume', 1, true, 8, 0, 200, 100],
      // 600 ms are now ahead of the next caller: too long, although the bucket has room.
      [0, 'consume', 4, true, 0, 0, 600, 200],
      [0, 'consume', 1, false, 0, 100, 600],
      [99, 'consume', 1, false, 0, 1, 501],
      [100, 'consume', 1, true, 0, 0, 600, 500],
      [100, 'consume', 0, true, 0, 0, 600],
      // The room, not the wait, is what is missing.
      [300, 'consume', 7, false, 6, 100, 400],
      [300, 'consume', 11, false, 6, NEVER, 400],
      [300, 'peek', 6, true, 6, 0, 400, 400],
      // Overdrawn: the later of 1500 ms (room for 1) and 1900 ms (the wait); for 10 it is the room.
      [300, 'charge', 20, true, 0, 0, 2400],
      [300, 'consume', 1, false, 0, 1900, 2400],
      [300, 'consume', 10, false, 0, 2400, 2400],
      [300, 'refund', 20, true, 6, 0, 400],
      [300, 'refund', 10, true, 10, 0, 0],
      [300, 'consume', 3, true, 7, 0, 300, 0],
      // A clock behind waits no longer than the backlog takes.
      [100, 'consume', 1, true, 6, 0, 600, 300],
      [-HOUR, 'consume', 1, true, 5, 0, 500, 400],
      [-HOUR + 500, 'consume', 1, true, 9, 0, 100, 0],
    ],
  ),
  scenario(
    'takes nobody while a request is ahead, with no delay allowed',
    [perSecond(10, 0)],
    [
      [0, 'consume', 3, true, 0, 0, 300, 0],
      [0, 'consume', 1, false, 0, 300, 300],
      [299, 'consume', 1, false, 0, 1, 1],
      [300, 'consume', 1, true, 0, 0, 100, 0],
    ],
  ),
  scenario(
    'holds other numbers at once',
    [perSecond(10, 500), perSecond(10, 0), perSecond(20, 500), perSecond(0, 500)],
    [
      [0, 'consume', 3, true, 7, 0, 300, 0],
      [0, 'peek', 1, false, 0, 300, 300, 0, 1],
      // Three requests ahead drain twice as fast.
      [0, 'consume', 1, true, 16, 0, 200, 150, 2],
      [0, 'peek', 1, true, 6, 0, 400, 400],
      [0, 'consume', 1, false, 0, NEVER, 0, 0, 3],
      [0, 'consume', 0, true, 0, 0, 0, 0, 3],
    ],
  ),
  scenario(
    'is refused while blocked, and drains on underneath',
    [perSecond(10, 500)],
    [
      [0, 'consume', 2, true, 8, 0, 200, 0],
      [0, 'block', 50, false, 0, 50, 200],
      [0, 'consume', 1, false, 0, 50, 200],
      [20, 'charge', 1, true, 0, 0, 280],
      [49, 'consume', 1, false, 0, 1, 251],
      [50, 'consume', 1, true, 6, 0, 350, 250],
    ],
  ),
];

function perSecond(limit: number, maxDelayMs: number): ModelPolicy {
  return { algorithm: 'leaky-bucket', limit, windowMs: SECOND, burst: limit, maxDelayMs };
}
