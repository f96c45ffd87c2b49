import type { ModelPolicy } from '../model/model.js';
import { HOUR, MAX, MINUTE, NEVER, scenario, SECOND, type Scenario } from './scenario.js';

export const gcra: readonly Scenario[] = [
  // A token is 6000 ms; three of them fit.
  scenario(
    'spaces requests evenly, with a little slack',
    [gcraOf(10, MINUTE, 3)],
    [
      [0, 'peek', 3, true, 3, 0, 0],
      [0, 'consume', 1, true, 2, 0, 6000],
      [0, 'consume', 1, true, 1, 0, 12_000],
      [0, 'consume', 1, true, 0, 0, 18_000],
      [0, 'consume', 1, false, 0, 6000, 18_000],
      [5999, 'consume', 1, false, 0, 1, 12_001],
      [6000, 'consume', 1, true, 0, 0, 18_000],
      [9000, 'consume', 1, false, 0, 3000, 15_000],
      [9000, 'consume', 0, true, 0, 0, 15_000],
      [13_000, 'consume', 2, false, 1, 5000, 11_000],
      [13_000, 'consume', 4, false, 1, NEVER, 11_000],
      [13_000, 'charge', 5, true, 0, 0, 41_000],
      [13_000, 'consume', 1, false, 0, 29_000, 41_000],
      [13_000, 'refund', 5, true, 1, 0, 11_000],
      [13_000, 'refund', 9, true, 3, 0, 0],
      [13_000, 'consume', 3, true, 0, 0, 18_000],
      // The clock goes back: 10 s, then an hour.
      [3000, 'consume', 1, false, 0, 16_000, 28_000],
      [-HOUR, 'consume', 1, false, 0, 6000, 18_000],
      [-HOUR + 5999, 'consume', 1, false, 0, 1, 12_001],
      [-HOUR + 6000, 'consume', 1, true, 0, 0, 18_000],
    ],
  ),
  scenario(
    'spaces strictly with a burst of 1',
    [gcraOf(10, MINUTE, 1)],
    [
      [0, 'consume', 1, true, 0, 0, 6000],
      [0, 'consume', 2, false, 0, NEVER, 6000],
      [5999, 'consume', 1, false, 0, 1, 1],
      [6000, 'consume', 1, true, 0, 0, 6000],
      // Nothing is saved up for later.
      [60_000, 'consume', 1, true, 0, 0, 6000],
      [60_000, 'consume', 1, false, 0, 6000, 6000],
    ],
  ),
  // 60 000/7 = 8571.43 ms a token.
  scenario(
    'is exact where the spacing is no whole number',
    [gcraOf(7, MINUTE, 1)],
    [
      [0, 'consume', 1, true, 0, 0, 8572],
      [0, 'consume', 1, false, 0, 8572, 8572],
      [8571, 'consume', 1, false, 0, 1, 1],
      [8572, 'consume', 1, true, 0, 0, 8572],
    ],
  ),
  scenario(
    'is exact above one request a millisecond',
    [gcraOf(3000, SECOND, 300)],
    [
      [0, 'consume', 300, true, 0, 0, 100],
      [0, 'consume', 1, false, 0, 1, 100],
      [1, 'consume', 4, false, 3, 1, 99],
      [1, 'consume', 3, true, 0, 0, 100],
      [1, 'consume', 300, false, 0, 100, 100],
    ],
  ),
  scenario(
    'takes its backlog over to other numbers, rounded up',
    [gcraOf(7, MINUTE, 1), gcraOf(10, MINUTE, 3), gcraOf(0, MINUTE, 0)],
    [
      [0, 'consume', 1, true, 0, 0, 8572],
      // 119 993/60 000 token is 11 999.3/6000.
      [1, 'charge', 1, true, 0, 0, 17_142],
      [1, 'peek', 1, true, 1, 0, 12_000, 0, 1],
      [1, 'consume', 1, false, 0, NEVER, 0, 0, 2],
      [1, 'charge', 1, true, 0, 0, 0, 0, 2],
      [1, 'consume', 1, true, 0, 0, 18_000, 0, 1],
      [6001, 'consume', 1, true, 0, 0, 18_000, 0, 1],
    ],
  ),
  scenario(
    'stays exact up to 2^53 − 1',
    [gcraOf(1, 1, 1)],
    [
      [0, 'charge', MAX, true, 0, 0, MAX],
      [0, 'charge', 1, true, 0, 0, MAX],
      [0, 'consume', 1, false, 0, MAX, MAX],
      [1, 'consume', 1, false, 0, MAX - 1, MAX - 1],
      [1, 'refund', MAX - 2, true, 0, 0, 1],
      [1, 'refund', 5, true, 1, 0, 0],
    ],
  ),
];

function gcraOf(limit: number, windowMs: number, burst: number): ModelPolicy {
  return { algorithm: 'gcra', limit, windowMs, burst, maxDelayMs: 0 };
}
