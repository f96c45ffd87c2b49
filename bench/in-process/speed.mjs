// Usage: node speed.mjs; prints the rounds of both and their medians as JSON.
import { rateLimiterFlexibleMemory } from '../contenders/rate-limiter-flexible.mjs';
import { sluice } from '../contenders/sluice.mjs';
import { alternate } from '../rounds.mjs';
import { KEYS, MINUTE, ONE_TIER, ROUNDS, ROUND_MS } from '../settings.mjs';

const contenders = [sluice(ONE_TIER, { redis: undefined }), rateLimiterFlexibleMemory(MINUTE)];
for (const contender of contenders) await contender.setUp();
console.log(JSON.stringify(await alternate(contenders, ROUNDS, measureAlone)));
process.exit();

/** Looks at the clock once for all keys: a decision takes less time than that look. */
async function measureAlone(contender) {
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < ROUND_MS) {
    for (const key of KEYS) {
      if (!(await contender.decide(key))) throw new Error(`${contender.name} refused`);
    }
    count += KEYS.length;
  }
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { decisionsPerSecond: count / seconds, nodeCpuUs: (user + system) / count };
}
