import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { rateLimiterFlexibleMemory } from './contenders/rate-limiter-flexible.mjs';
import { sluice } from './contenders/sluice.mjs';
import { alternate } from './rounds.mjs';
import { KEYS, MILLION, MINUTE, ONE_TIER, ROUNDS, ROUND_MS } from './settings.mjs';

/** Counters in this process: decisions a second, and memory as ever more keys come. */
export async function inProcess() {
  const contenders = [sluice(ONE_TIER, { redis: undefined }), rateLimiterFlexibleMemory(MINUTE)];
  for (const contender of contenders) await contender.setUp();
  const speed = await alternate(contenders, ROUNDS, measureAlone);
  for (const contender of contenders) await contender.tearDown();
  const memory = Object.fromEntries(contenders.map(({ name }) => [name, manyKeys(name)]));
  return { speed, memory };
}

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

function manyKeys(name) {
  const script = join(import.meta.dirname, 'memory/many-keys.mjs');
  return JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', script, name, MILLION], { encoding: 'utf8' }),
  );
}
