import type { Algorithm } from './algorithm.js';
import { fixedWindow } from './fixed-window.js';
import { gcra } from './gcra.js';
import { leakyBucket } from './leaky-bucket.js';
import { slidingWindowCounter } from './sliding-window-counter.js';
import { slidingWindowLog } from './sliding-window-log.js';
import { tokenBucket } from './token-bucket.js';

/** Every algorithm by the name that policies, keys and the Lua script know it by. */
export const algorithms = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
} satisfies Record<string, Algorithm>;

/** `'fixed-window' | 'sliding-window-log' | 'sliding-window-counter' | 'token-bucket' | 'gcra' | 'leaky-bucket'` */
export type AlgorithmName = keyof typeof algorithms;

export const algorithmNames = Object.keys(algorithms) as readonly AlgorithmName[];
