import { performance } from 'node:perf_hooks';

/** Where the in-process side reads the time. `ManualClock` of `nestjs-sluice/testing` is one. */
export interface Clock {
  /** Whole milliseconds since the epoch; never less than it said before. */
  now(): number;
  /**
   * Resolves after `ms` on this clock, or rejects with the signal's reason. A clock without it is
   * slept on with real timers.
   */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>;
}

const START = performance.timeOrigin;

/** Starts at the wall clock's time and is monotonic from there: a stepped wall clock moves nothing. */
export const monotonicClock: Clock = {
  now: () => Math.floor(START + performance.now()),
};
