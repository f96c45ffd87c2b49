// Usage: node --expose-gc many-keys.mjs <contender> <keys>; prints heap sizes as JSON.
// Asks for so many keys, then for as many others, and weighs the heap after each.
import { rateLimiterFlexibleMemory } from '../contenders/rate-limiter-flexible.mjs';
import { sluice } from '../contenders/sluice.mjs';

const HOUR = { name: 'hour', windowMs: 3_600_000 };
const [, , name, text] = process.argv;
const count = Number(text);

const contender =
  name === 'nestjs-sluice'
    ? sluice([HOUR], { redis: undefined, maxKeys: count })
    : rateLimiterFlexibleMemory(HOUR);
await contender.setUp();

const empty = heap();
let askingMs = 0;
const first = (await ask(0)) - empty;
const second = (await ask(count)) - empty;
console.log(
  JSON.stringify({
    keys: count,
    newKeysPerSecond: (2 * count) / (askingMs / 1_000),
    bytesPerKey: first / count,
    growthWithTwice: second / first,
  }),
);
// The timers of keys would keep the process for an hour.
process.exit();

async function ask(from) {
  const start = performance.now();
  for (let index = from; index < from + count; index++) await contender.decide(`c-${index}`);
  askingMs += performance.now() - start;
  return heap();
}

function heap() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
