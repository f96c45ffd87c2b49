// Usage: node --expose-gc many-keys.mjs <contender> <keys>; prints heap sizes as JSON.
// Asks for so many keys, then for as many others, again and again, and weighs the heap.
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
const weights = [];
for (let round = 0; round < 4; round++) weights.push((await ask(round * count)) - empty);
const [once, twice, , fourTimes] = weights;
console.log(
  JSON.stringify({
    keys: count,
    newKeysPerSecond: (4 * count) / (askingMs / 1_000),
    bytesPerKey: once / count,
    growthWithTwice: twice / once,
    growthWithFourTimes: fourTimes / twice,
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
