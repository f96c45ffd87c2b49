import { setTimeout as sleep } from 'node:timers/promises';

const DAY_MS = 86_400_000;
const MARGIN_MS = 5_000;

/** A fixed window of a day starts afresh at midnight UTC; what is counted must not straddle that. */
export async function awayFromMidnight(): Promise<void> {
  const sinceMs = Date.now() % DAY_MS;
  const untilMs = DAY_MS - sinceMs;
  if (untilMs > MARGIN_MS && sinceMs > MARGIN_MS) return;
  console.log('Waiting for midnight UTC to pass, when daily limits start afresh.\n');
  await sleep(untilMs > MARGIN_MS ? MARGIN_MS - sinceMs : untilMs + MARGIN_MS);
}
