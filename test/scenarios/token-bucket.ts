import type { ModelPolicy } from '../model/model.js';
import { HOUR, MAX, MINUTE, NEVER, scenario, type Scenario } from './scenario.js';

export const tokenBucket: readonly Scenario[] = [
  // 1/1000 token a millisecond.
  scenario(
    'refills at an even rate up to the burst',
    [perMinute(60)],
    [
      [0, 'peek', 1, true, 60, 0, 0],
      [0, 'consume', 60, true, 0, 0, 60_000],
      [0, 'consume', 1, false, 0, 1000, 60_000],
      [999, 'consume', 1, false, 0, 1, 59_001],
      [1000, 'consume', 1, true, 0, 0, 60_000],
      [3500, 'peek', 2, true, 2, 0, 57_500],
      [3500, 'consume', 3, false, 2, 500, 57_500],
      [3500, 'consume', 61, false, 2, NEVER, 57_500],
      [3500, 'consume', 0, true, 2, 0, 57_500],
      // In debt by 7.5 tokens, and out of it again.
      [3500, 'charge', 10, true, 0, 0, 67_500],
      [3500, 'consume', 1, false, 0, 8500, 67_500],
      [3500, 'refund', 10, true, 2, 0, 57_500],
      [3500, 'refund', 100, true, 60, 0, 0],
      [3500, 'consume', 30, true, 30, 0, 30_000],
      [33_499, 'consume', 60, false, 59, 1, 1],
      [33_500, 'consume', 60, true, 0, 0, 60_000],
    ],
  ),
  scenario(
    'neither refills nor locks out when the clock goes back',
    [perMinute(60)],
    [
      [33_500, 'consume', 60, true, 0, 0, 60_000],
      [13_500, 'consume', 1, false, 0, 21_000, 80_000],
      [-26_500, 'consume', 1, false, 0, 61_000, 120_000],
      // More than a window behind: the empty bucket is of that clock.
      [-26_501, 'peek', 1, false, 0, 1000, 60_000],
      [34_500, 'peek', 1, true, 1, 0, 59_000],
      [-HOUR, 'consume', 1, false, 0, 1000, 60_000],
      [-HOUR + 999, 'consume', 1, false, 0, 1, 59_001],
      [-HOUR + 1000, 'consume', 1, true, 0, 0, 60_000],
    ],
  ),
  scenario(
    'takes its level over to other numbers',
    [perMinute(60), perMinute(120), perMinute(30), perMinute(7), perMinute(0)],
    [
      [0, 'consume', 40, true, 20, 0, 40_000],
      // A higher burst gives nothing at once, a lower one cuts.
      [0, 'peek', 1, true, 20, 0, 50_000, 0, 1],
      [0, 'peek', 8, false, 7, NEVER, 0, 0, 3],
      [0, 'consume', 10, true, 10, 0, 40_000, 0, 2],
      // 10 tokens at 0 s, and a token a second from then on: the new rate.
      [10_000, 'consume', 60, false, 20, 40_000, 40_000],
      // No limit, nothing moves.
      [10_000, 'consume', 1, false, 0, NEVER, 0, 0, 4],
      [10_000, 'consume', 0, true, 0, 0, 0, 0, 4],
      [10_000, 'charge', 5, true, 0, 0, 0, 0, 4],
      [10_000, 'refund', 5, true, 0, 0, 0, 0, 4],
      [10_000, 'peek', 1, true, 20, 0, 40_000],
    ],
  ),
  // 7/60 000 token a millisecond.
  scenario(
    'rounds a level down when it is taken over',
    [perMinute(7), perMinute(60)],
    [
      [0, 'consume', 7, true, 0, 0, 60_000],
      [1, 'consume', 1, false, 0, 8571, 59_999],
      // −59 993/60 000 token is −999.88… thousandths.
      [1, 'charge', 1, true, 0, 0, 68_571],
      [1, 'peek', 1, false, 0, 2000, 61_000, 0, 1],
    ],
  ),
  scenario(
    'stays exact up to 2^53 − 1',
    [perMillisecond(MAX), perMillisecond(1)],
    [
      [0, 'consume', MAX, true, 0, 0, MAX],
      [1, 'consume', 2, false, 1, 1, MAX - 1],
      [1, 'consume', 1, true, 0, 0, MAX],
      // The debt stops at 2^53 − 1 from full: here at none, there at −2^53 + 2.
      [2, 'charge', MAX, true, 0, 0, MAX],
      [2, 'reset', 0, true, MAX, 0, 0],
      [2, 'charge', MAX, true, 0, 0, MAX, 0, 1],
      [2, 'charge', 5, true, 0, 0, MAX, 0, 1],
      [3, 'consume', 1, false, 0, MAX - 1, MAX - 1, 0, 1],
      [3, 'refund', MAX, true, 1, 0, 0, 0, 1],
    ],
  ),
  scenario(
    'knows nothing of a bucket that is full again',
    [perMinute(60)],
    [
      [0, 'consume', 1, true, 59, 0, 1000],
      [0, 'refund', 1, true, 60, 0, 0],
      [-10_000, 'consume', 1, true, 59, 0, 1000],
    ],
  ),
];

function perMinute(limit: number): ModelPolicy {
  return { algorithm: 'token-bucket', limit, windowMs: MINUTE, burst: limit, maxDelayMs: 0 };
}

function perMillisecond(burst: number): ModelPolicy {
  return { algorithm: 'token-bucket', limit: 1, windowMs: 1, burst, maxDelayMs: 0 };
}
