import type { ModelPolicy } from '../model/model.js';
import { HOUR, MAX, MINUTE, NEVER, scenario, type Scenario } from './scenario.js';

export const fixedWindow: readonly Scenario[] = [
  scenario(
    'counts in windows aligned to the epoch',
    [perMinute(3)],
    [
      [0, 'peek', 1, true, 3, 0, 0],
      [1000, 'consume', 1, true, 2, 0, 59_000],
      [1000, 'consume', 2, true, 0, 0, 59_000],
      // Cost 0 always passes.
      [1000, 'consume', 0, true, 0, 0, 59_000],
      [59_999, 'consume', 1, false, 0, 1, 1],
      // A new window, a new quota.
      [60_000, 'consume', 1, true, 2, 0, 60_000],
      [70_000, 'consume', 4, false, 2, NEVER, 50_000],
      [70_000, 'consume', 3, false, 2, 50_000, 50_000],
      // After the fact: 6 of 3 used, then 2, then none.
      [70_000, 'charge', 5, true, 0, 0, 50_000],
      [80_000, 'refund', 4, true, 1, 0, 40_000],
      [80_000, 'refund', 9, true, 3, 0, 0],
      // What a window used is forgotten with it, overdrawn or not.
      [80_000, 'charge', 100, true, 0, 0, 40_000],
      [120_000, 'refund', 1, true, 3, 0, 0],
      [120_000, 'consume', 3, true, 0, 0, 60_000],
    ],
  ),
  scenario(
    'neither refills nor locks out when the clock goes back',
    [perMinute(3)],
    [
      [80_000, 'consume', 3, true, 0, 0, 40_000],
      // A little behind: the window starts at 60 s, so it is read as of then.
      [59_000, 'consume', 1, false, 0, 61_000, 61_000],
      [0, 'consume', 1, false, 0, 120_000, 120_000],
      // Far behind: the window of that clock. A peek writes nothing…
      [-1, 'peek', 1, false, 0, 1, 1],
      [-HOUR, 'peek', 1, false, 0, 60_000, 60_000],
      [80_000, 'peek', 1, false, 0, 40_000, 40_000],
      // …a refusal does.
      [-HOUR + 10_000, 'consume', 1, false, 0, 50_000, 50_000],
      [-HOUR + 59_999, 'consume', 1, false, 0, 1, 1],
      [-HOUR + 60_000, 'consume', 1, true, 2, 0, 60_000],
    ],
  ),
  scenario(
    'holds another limit at once',
    [perMinute(3), perMinute(5), perMinute(1), perMinute(0)],
    [
      [0, 'consume', 3, true, 0, 0, 60_000],
      [0, 'consume', 1, true, 1, 0, 60_000, 0, 1],
      [10_000, 'consume', 1, false, 0, 50_000, 50_000],
      [10_000, 'consume', 1, false, 0, 50_000, 50_000, 0, 2],
      [10_000, 'consume', 1, false, 0, NEVER, 50_000, 0, 3],
      [10_000, 'consume', 0, true, 0, 0, 50_000, 0, 3],
      [60_000, 'consume', 1, true, 0, 0, 60_000, 0, 2],
    ],
  ),
  scenario(
    'is refused while blocked, and counts on underneath',
    [perMinute(3)],
    [
      [0, 'consume', 1, true, 2, 0, 60_000],
      [0, 'block', 90_000, false, 0, 90_000, 90_000],
      [10_000, 'consume', 1, false, 0, 80_000, 80_000],
      [10_000, 'consume', 4, false, 0, NEVER, 80_000],
      [10_000, 'consume', 0, true, 0, 0, 80_000],
      [10_000, 'charge', 1, true, 0, 0, 80_000],
      [59_999, 'peek', 1, false, 0, 30_001, 30_001],
      // Block and window: the later of the two.
      [65_000, 'charge', 3, true, 0, 0, 55_000],
      [65_000, 'consume', 1, false, 0, 55_000, 55_000],
      [66_000, 'refund', 1, true, 0, 0, 54_000],
      [66_000, 'unblock', 0, true, 1, 0, 54_000],
      [66_000, 'block', 1000, false, 0, 1000, 54_000],
      [66_999, 'consume', 1, false, 0, 1, 53_001],
      [67_000, 'consume', 1, true, 0, 0, 53_000],
      [67_000, 'block', 1000, false, 0, 53_000, 53_000],
      [67_000, 'reset', 0, true, 3, 0, 0],
    ],
  ),
  scenario(
    'knows nothing of a window that is full again',
    [perMinute(3)],
    [
      [60_000, 'consume', 1, true, 2, 0, 60_000],
      [60_000, 'refund', 1, true, 3, 0, 0],
      [30_000, 'consume', 1, true, 2, 0, 30_000],
    ],
  ),
  scenario(
    'stops at 2^53 − 1',
    [perMinute(MAX)],
    [
      [0, 'consume', MAX, true, 0, 0, 60_000],
      [0, 'charge', MAX, true, 0, 0, 60_000],
      [0, 'consume', MAX, false, 0, 60_000, 60_000],
      [0, 'refund', 1, true, 1, 0, 60_000],
    ],
  ),
];

function perMinute(limit: number): ModelPolicy {
  return { algorithm: 'fixed-window', limit, windowMs: MINUTE, burst: limit, maxDelayMs: 0 };
}
