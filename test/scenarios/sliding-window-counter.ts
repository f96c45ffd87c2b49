import type { ModelPolicy } from '../model/model.js';
import { HOUR, MAX, MINUTE, NEVER, scenario, type Scenario } from './scenario.js';

export const slidingWindowCounter: readonly Scenario[] = [
  scenario(
    'weighs the window before by what it still overlaps',
    [perMinute(10)],
    [
      [0, 'consume', 10, true, 0, 0, 120_000],
      // 30 s to the next window, and 6 s until 10 have faded to 9.
      [30_000, 'consume', 1, false, 0, 36_000, 90_000],
      [60_000, 'consume', 1, false, 0, 6000, 60_000],
      [65_999, 'consume', 1, false, 0, 1, 54_001],
      [66_000, 'consume', 1, true, 0, 0, 114_000],
      // Half the window: 5 of the 10 are left, and 1 of this one.
      [90_000, 'consume', 4, true, 0, 0, 90_000],
      // 10 · 24 001/60 000 + 5 is a little over 9.
      [95_999, 'consume', 1, false, 0, 1, 84_001],
      [96_000, 'peek', 1, true, 1, 0, 84_000],
      // Not in this window any more: 24 s, then until 5 have faded to 4, or to 0.
      [96_000, 'consume', 6, false, 1, 36_000, 84_000],
      [96_000, 'consume', 10, false, 1, 84_000, 84_000],
      [96_000, 'consume', 11, false, 1, NEVER, 84_000],
      // Overdrawn to 25, which fade to 9 in 38.4 s of the next window.
      [96_000, 'charge', 20, true, 0, 0, 84_000],
      [120_000, 'consume', 1, false, 0, 38_400, 60_000],
      // A refund is of this window only.
      [150_000, 'refund', 5, true, 0, 0, 30_000],
      [179_999, 'consume', 10, false, 9, 1, 1],
      [180_000, 'consume', 10, true, 0, 0, 120_000],
      [180_000, 'refund', 4, true, 4, 0, 120_000],
      // Two windows later both are forgotten.
      [300_000, 'peek', 1, true, 10, 0, 0],
    ],
  ),
  scenario(
    'neither refills nor locks out when the clock goes back',
    [perMinute(10)],
    [
      [60_000, 'consume', 10, true, 0, 0, 120_000],
      [70_000, 'consume', 1, false, 0, 56_000, 110_000],
      // Read as of 60 s, the start of the window.
      [59_000, 'consume', 1, false, 0, 67_000, 121_000],
      [0, 'consume', 1, false, 0, 126_000, 180_000],
      // An hour: the window of that clock, of which half is over.
      [-HOUR + 30_000, 'peek', 1, false, 0, 36_000, 90_000],
      [70_000, 'peek', 1, false, 0, 56_000, 110_000],
      [-HOUR + 30_000, 'consume', 1, false, 0, 36_000, 90_000],
      [-HOUR + 65_999, 'consume', 1, false, 0, 1, 54_001],
      [-HOUR + 66_000, 'consume', 1, true, 0, 0, 114_000],
    ],
  ),
  scenario(
    'holds another limit at once',
    [perMinute(10), perMinute(20), perMinute(5), perMinute(0)],
    [
      [0, 'consume', 10, true, 0, 0, 120_000],
      [30_000, 'consume', 5, true, 5, 0, 90_000, 0, 1],
      // 30 s, then until 15 have faded to 9, or to 4.
      [30_000, 'consume', 1, false, 0, 54_000, 90_000],
      [30_000, 'consume', 1, false, 0, 74_000, 90_000, 0, 2],
      [30_000, 'consume', 1, false, 0, NEVER, 90_000, 0, 3],
      [30_000, 'consume', 0, true, 0, 0, 90_000, 0, 3],
      [30_000, 'reset', 0, true, 10, 0, 0],
    ],
  ),
  // ⌊(2^53 − 1)/60 000⌋ is the largest limit a minute, and the largest count.
  scenario(
    'stays exact up to 2^53 − 1',
    [perMinute(150_119_987_579)],
    [
      [0, 'consume', 150_119_987_579, true, 0, 0, 120_000],
      [0, 'charge', MAX, true, 0, 0, 120_000],
      [0, 'refund', 1, true, 1, 0, 120_000],
      [60_000, 'consume', 1, true, 0, 0, 120_000],
      [60_000, 'charge', MAX, true, 0, 0, 120_000],
      // A full window ahead, and then a 60 000th of the limit fades in a millisecond.
      [60_000, 'consume', 1, false, 0, 60_001, 120_000],
      [120_000, 'consume', 1, false, 0, 1, 60_000],
      [120_001, 'consume', 1, true, 2_501_998, 0, 119_999],
    ],
  ),
];

function perMinute(limit: number): ModelPolicy {
  return {
    algorithm: 'sliding-window-counter',
    limit,
    windowMs: MINUTE,
    burst: limit,
    maxDelayMs: 0,
  };
}
