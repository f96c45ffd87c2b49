import type { Clock } from './clock.js';
import { sleep } from './sleep.js';

/** Waits for a caller's turn, and no longer once it has gone; false when it has. */
export async function holdBack(
  clock: Clock,
  delayMs: number,
  onGone: (callback: () => void) => () => void,
): Promise<boolean> {
  if (delayMs === 0) return true;
  const gone = new AbortController();
  const stopListening = onGone(() => gone.abort());
  try {
    await sleep(clock, delayMs, gone.signal);
    return true;
  } catch {
    return false;
  } finally {
    stopListening();
  }
}
