import type { Algorithm, PolicyNumbers } from '../algorithms/algorithm.js';
import type { AlgorithmName } from '../algorithms/registry.js';
import type { Duration } from './duration.js';

/** An algorithm and its numbers, as users write them. */
export interface PolicyOptions {
  /** How the quota is counted; `docs/algorithms.md` has the laws. */
  algorithm: AlgorithmName;
  /** Whole units per window, 0 or more. 0 refuses everything. */
  limit: number;
  /** Milliseconds, or text such as `'1m'`; at most `'3650d'`. */
  window: Duration;
  /**
   * Buckets only: how much may pass at once. Default: `limit`, and `⌈limit / 10⌉` for `gcra`.
   */
  burst?: number;
  /** `leaky-bucket` only: nobody is held longer than this. Default `'5s'`. */
  maxDelay?: Duration;
}

type Parameters = '' | `,burst=${number}` | `,maxDelay=${string}`;

/**
 * A policy on one line: `'token-bucket:60/1m'`, `'gcra:60/1m,burst=10'`,
 * `'leaky-bucket:10/1s,burst=20,maxDelay=2s'`.
 */
export type PolicyText =
  | `${AlgorithmName}:${number}/${number}${'ms' | 's' | 'm' | 'h' | 'd'}${Parameters}`
  | `leaky-bucket:${number}/${number}${'ms' | 's' | 'm' | 'h' | 'd'},burst=${number},maxDelay=${string}`;

/** A checked policy: its name, its law and its numbers, complete. Made by `definePolicy`. */
export interface Policy extends PolicyNumbers {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  readonly law: Algorithm;
  /** Its text form, as logs and errors print it. */
  readonly text: string;
}
