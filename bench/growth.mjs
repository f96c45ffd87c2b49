import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sluice } from './contenders/sluice.mjs';
import { startCluster } from './growth/cluster.mjs';
import { measure } from './measure.mjs';
import { alternate } from './rounds.mjs';
import { isQuick, KEYS, ROUND_MS, THREE_TIERS } from './settings.mjs';

const IN_FLIGHT = 64;
const ROUNDS = isQuick ? 1 : 3;
const TIERS = [1, 2, 3, 4, 6];
const KEY_COUNTS = isQuick ? [100, 1_000] : [100, 1_000, 10_000, 100_000];
const PROCESSES = [1, 2, 4];
const NODES = [1, 3];

/** How the cost of a decision grows, each with all else as it is: three tiers, 1000 keys, one process. */
export async function growth(redis) {
  return {
    tiers: await withTiers(redis),
    keys: await withKeys(redis),
    processes: await withProcesses(redis),
    nodes: await withNodes(),
  };
}

async function withTiers(redis) {
  const contenders = TIERS.map((count) => {
    const tiers = Array.from({ length: count }, (_, n) => ({
      name: `tier-${n}`,
      windowMs: 60_000 * (n + 1),
    }));
    return { ...sluice(tiers), name: String(count), tiers: count };
  });
  return run(redis, contenders, (contender) =>
    measure(contender, redis, { inFlight: IN_FLIGHT, ms: ROUND_MS }),
  );
}

async function withKeys(redis) {
  const contenders = KEY_COUNTS.map((count) => ({ ...sluice(THREE_TIERS), name: String(count) }));
  return run(redis, contenders, (contender) => {
    const count = Number(contender.name);
    const keys = Array.from({ length: count }, (_, n) => `customer-${n}`);
    return measure(contender, redis, { inFlight: IN_FLIGHT, ms: ROUND_MS, keys });
  });
}

/** Each process has callers of its own, so that many ask one Redis at the same time. */
async function withProcesses(redis) {
  await redis.flush();
  const children = await Promise.all(
    Array.from({ length: Math.max(...PROCESSES) }, () => startWorker(redis.url)),
  );
  const contenders = PROCESSES.map((count) => ({ name: String(count) }));
  const results = await alternate(contenders, ROUNDS, async ({ name }) => {
    const before = await redis.cpuUs();
    const measured = await Promise.all(children.slice(0, Number(name)).map(ask));
    const redisUs = (await redis.cpuUs()) - before;
    const total = measured.reduce((sum, { decisions }) => sum + decisions, 0);
    const nodeUs = measured.reduce((sum, { nodeUs: used }) => sum + used, 0);
    return {
      decisionsPerSecond: measured.reduce((sum, { perSecond }) => sum + perSecond, 0),
      nodeCpuUs: nodeUs / total,
      redisCpuUs: redisUs / total,
    };
  });
  for (const child of children) child.disconnect();
  return results;
}

async function startWorker(url) {
  const child = fork(join(import.meta.dirname, 'growth/worker.mjs'), [url]);
  await once(child, 'message');
  return child;
}

async function ask(child) {
  child.send({ inFlight: IN_FLIGHT, ms: ROUND_MS });
  const [measured] = await once(child, 'message');
  return measured;
}

async function withNodes() {
  const results = {};
  for (const count of NODES) {
    const cluster = await startCluster(count);
    const contender = sluice(THREE_TIERS, { redis: { cluster: cluster.nodes } });
    await contender.setUp();
    const measured = await alternate([contender], ROUNDS, (one) =>
      measure(one, cluster, { inFlight: IN_FLIGHT, ms: ROUND_MS, keys: KEYS }),
    );
    results[count] = measured[contender.name];
    await contender.tearDown();
    await cluster.stop();
  }
  return results;
}

async function run(redis, contenders, measureOne) {
  await redis.flush();
  for (const contender of contenders) await contender.setUp(redis.url);
  const results = await alternate(contenders, ROUNDS, measureOne);
  for (const contender of contenders) await contender.tearDown();
  return results;
}
