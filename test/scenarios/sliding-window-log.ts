import type { ModelPolicy } from '../model/model.js';
import { HOUR, MINUTE, NEVER, scenario, type Scenario } from './scenario.js';

export const slidingWindowLog: readonly Scenario[] = [
  scenario(
    'remembers every request for a window',
    [perMinute(3)],
    [
      [0, 'peek', 3, true, 3, 0, 0],
      // Two requests in one millisecond are two.
      [0, 'consume', 1, true, 2, 0, 60_000],
      [0, 'consume', 1, true, 1, 0, 60_000],
      [30_000, 'consume', 1, true, 0, 0, 60_000],
      // As many of the oldest must leave as the cost needs.
      [30_000, 'consume', 1, false, 0, 30_000, 60_000],
      [30_000, 'consume', 2, false, 0, 30_000, 60_000],
      [30_000, 'consume', 3, false, 0, 60_000, 60_000],
      [30_000, 'consume', 4, false, 0, NEVER, 60_000],
      [59_999, 'consume', 1, false, 0, 1, 30_001],
      // A request is one window old: the two have left, one of 30 s is there.
      [60_000, 'consume', 1, true, 1, 0, 60_000],
      // Overdrawn to 7: nothing passes before the charge itself has left.
      [60_000, 'charge', 5, true, 0, 0, 60_000],
      [70_000, 'consume', 1, false, 0, 50_000, 50_000],
      // Refunds take the newest first: the charge, then the request of 60 s.
      [70_000, 'refund', 5, true, 1, 0, 50_000],
      [70_000, 'refund', 1, true, 2, 0, 20_000],
      [70_000, 'consume', 2, true, 0, 0, 60_000],
      // A part of an entry.
      [75_000, 'refund', 1, true, 1, 0, 55_000],
      [75_000, 'refund', 9, true, 3, 0, 0],
    ],
  ),
  scenario(
    'neither evicts nor locks out when the clock goes back',
    [perMinute(3)],
    [
      [30_000, 'consume', 1, true, 2, 0, 60_000],
      [70_000, 'consume', 2, true, 0, 0, 60_000],
      // Read as of 70 s; the oldest leaves at 90 s, the newest at 130 s.
      [50_000, 'consume', 1, false, 0, 40_000, 80_000],
      [10_000, 'peek', 1, false, 0, 80_000, 120_000],
      // An hour: the whole log moves along, the newest to the clock.
      [-HOUR, 'peek', 1, false, 0, 20_000, 60_000],
      [70_000, 'peek', 1, false, 0, 20_000, 60_000],
      [-HOUR, 'consume', 1, false, 0, 20_000, 60_000],
      [-HOUR + 19_999, 'consume', 1, false, 0, 1, 40_001],
      [-HOUR + 20_000, 'consume', 1, true, 0, 0, 60_000],
    ],
  ),
  scenario(
    'notes a charge of a clock behind as of the newest',
    [perMinute(3)],
    [
      [10_000, 'consume', 1, true, 2, 0, 60_000],
      [9000, 'consume', 1, true, 1, 0, 61_000],
      [69_999, 'peek', 3, false, 1, 1, 1],
      [70_000, 'peek', 3, true, 3, 0, 0],
    ],
  ),
  scenario(
    'holds another limit at once',
    [perMinute(3), perMinute(5), perMinute(1), perMinute(0)],
    [
      [0, 'consume', 2, true, 1, 0, 60_000],
      [10_000, 'consume', 1, true, 0, 0, 60_000],
      [20_000, 'peek', 2, true, 2, 0, 50_000, 0, 1],
      [20_000, 'consume', 2, false, 0, 40_000, 50_000],
      [20_000, 'consume', 1, false, 0, 50_000, 50_000, 0, 2],
      [20_000, 'consume', 1, false, 0, NEVER, 50_000, 0, 3],
      [20_000, 'consume', 0, true, 0, 0, 50_000, 0, 3],
      [20_000, 'reset', 0, true, 3, 0, 0],
    ],
  ),
  scenario(
    'stops at 2^48 − 1',
    [perMinute(2 ** 48 - 1)],
    [
      [0, 'consume', 2 ** 48, false, 2 ** 48 - 1, NEVER, 0],
      [0, 'consume', 2 ** 48 - 2, true, 1, 0, 60_000],
      [1000, 'charge', 2 ** 53 - 1, true, 0, 0, 60_000],
      // Of the second charge one unit was noted, so the first is all that has left.
      [60_000, 'peek', 2 ** 48 - 1, false, 2 ** 48 - 2, 1000, 1000],
    ],
  ),
];

function perMinute(limit: number): ModelPolicy {
  return { algorithm: 'sliding-window-log', limit, windowMs: MINUTE, burst: limit, maxDelayMs: 0 };
}
