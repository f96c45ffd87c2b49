import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from './clock.js';

/** Node's timers cannot be set longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` on the clock; rejects with the signal's reason when that comes first. */
export async function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (clock.sleep !== undefined) return clock.sleep(ms, signal);
  try {
    for (let rest = ms; rest > 0; rest -= LONGEST_TIMER_MS) {
      await delay(Math.min(rest, LONGEST_TIMER_MS), undefined, { signal });
    }
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}
