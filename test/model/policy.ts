import {
  Bucket,
  type BucketNumbers,
  bucketNumbers,
  ClosedBucket,
  Gcra,
  LeakyBucket,
  TokenBucket,
} from './buckets.js';
import type { Counter } from './counter.js';
import { SlidingWindowLog } from './log.js';
import { FixedWindow, SlidingWindowCounter } from './windows.js';

export type AlgorithmName =
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket';

export interface ModelPolicy {
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number;
  readonly maxDelayMs: number;
}

/** The counter of a key that is not known: full. */
export function fresh(policy: ModelPolicy, t: bigint): Counter {
  if (isClosed(policy)) {
    return new ClosedBucket();
  }
  const limit = BigInt(policy.limit);
  const window = BigInt(policy.windowMs);
  const numbers = numbersOf(policy);
  switch (policy.algorithm) {
    case 'fixed-window':
      return FixedWindow.fresh(limit, window, t);
    case 'sliding-window-counter':
      return SlidingWindowCounter.fresh(limit, window, t);
    case 'sliding-window-log':
      return new SlidingWindowLog(limit, window, t, []);
    case 'token-bucket':
      return new TokenBucket(numbers, t, numbers.capacity);
    case 'gcra':
      return new Gcra(numbers, t, 0n);
    case 'leaky-bucket':
      return new LeakyBucket(numbers, t, 0n);
  }
}

/** The counter, from now on counted by the numbers of this policy. */
export function under(policy: ModelPolicy, counter: Counter): Counter {
  if (counter instanceof Bucket) {
    return counter.under(numbersOf(policy));
  }
  const isWindow =
    counter instanceof FixedWindow ||
    counter instanceof SlidingWindowCounter ||
    counter instanceof SlidingWindowLog;
  return isWindow ? counter.under(BigInt(policy.limit)) : counter;
}

/** The largest cost that ever passes. */
export function capacity({ algorithm, limit, burst }: ModelPolicy): bigint {
  return BigInt(isBucket(algorithm) && limit > 0 ? burst : limit);
}

/** A bucket with a limit of 0. */
export function isClosed({ algorithm, limit }: ModelPolicy): boolean {
  return isBucket(algorithm) && limit === 0;
}

function isBucket(algorithm: AlgorithmName): boolean {
  return algorithm === 'token-bucket' || algorithm === 'gcra' || algorithm === 'leaky-bucket';
}

function numbersOf({ limit, windowMs, burst, maxDelayMs }: ModelPolicy): BucketNumbers {
  return bucketNumbers(BigInt(limit), BigInt(windowMs), BigInt(burst), BigInt(maxDelayMs));
}
