import { KEYS } from './settings.mjs';
import { percentile } from './statistics.mjs';

/**
 * One round: `inFlight` callers, each asking again as soon as it is answered. CPU is that of all
 * that this process did, these few lines included.
 */
export async function measure(contender, redis, { inFlight, ms, keys = KEYS, expected = true }) {
  const latencies = [];
  let next = 0;
  const redisBefore = await redis.cpuUs();
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + ms;

  async function caller() {
    for (let asked = performance.now(); asked < end;) {
      const isAdmitted = await contender.decide(keys[next++ % keys.length]);
      if (isAdmitted !== expected) throw new Error(`${contender.name} decided ${isAdmitted}`);
      const answered = performance.now();
      latencies.push(answered - asked);
      asked = answered;
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller));

  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const redisUs = (await redis.cpuUs()) - redisBefore;
  return {
    decisionsPerSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    nodeCpuUs: (user + system) / latencies.length,
    redisCpuUs: redisUs / latencies.length,
  };
}
