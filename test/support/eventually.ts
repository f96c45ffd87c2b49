import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** Waits until `check` is true; a check that throws is one that is not true yet. */
export async function eventually(
  what: string,
  check: () => Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let cause: unknown;
  while (Date.now() < deadline) {
    try {
      if (await check()) return;
    } catch (error) {
      cause = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`${what}: not within ${timeoutMs} ms`, { cause });
}
