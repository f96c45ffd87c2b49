import type { Clock } from '../clock.js';

interface Sleeper {
  readonly wakesAt: number;
  readonly wake: () => void;
}

/**
 * A clock that stands still until a test moves it: `clock` of `forRoot` and of `MemoryStore`. What
 * sleeps on it wakes when it is moved far enough.
 */
export class ManualClock implements Clock {
  private time: number;
  private sleepers: Sleeper[] = [];

  /** Starts at `start`, in milliseconds since the epoch. Default: now. */
  constructor(start: number = Date.now()) {
    this.time = checkedMs(start);
  }

  now(): number {
    return this.time;
  }

  /** Moves on by whole milliseconds, or back by a negative number of them. */
  advance(ms: number): void {
    this.set(this.time + checkedMs(ms));
  }

  /** Moves to a time in whole milliseconds since the epoch. */
  set(ms: number): void {
    this.time = checkedMs(ms);
    const awake = this.sleepers.filter(({ wakesAt }) => wakesAt <= ms);
    this.sleepers = this.sleepers.filter(({ wakesAt }) => wakesAt > ms);
    for (const { wake } of awake.toSorted((a, b) => a.wakesAt - b.wakesAt)) wake();
  }

  /** Callers that sleep on this clock now. */
  get sleeping(): number {
    return this.sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const stop = (): void => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal!.reason as Error);
      };
      const sleeper: Sleeper = {
        wakesAt: this.time + ms,
        wake: () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      signal?.addEventListener('abort', stop, { once: true });
      if (ms <= 0) sleeper.wake();
      else this.sleepers.push(sleeper);
    });
  }
}

function checkedMs(ms: number): number {
  if (Number.isSafeInteger(ms)) return ms;
  throw new RangeError(`ManualClock: received ${String(ms)}, expected whole milliseconds`);
}
