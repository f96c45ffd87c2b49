// Usage: npm run bench [-- --quick]; writes bench/results.json and bench/results.md.
import 'reflect-metadata';
import { attack } from './attack.mjs';
import { decisions } from './decisions.mjs';
import { figures } from './figures.mjs';
import { growth } from './growth.mjs';
import { http } from './http.mjs';
import { inProcess } from './in-process.mjs';
import { machine } from './machine.mjs';
import { memoryPerKey } from './memory-per-key.mjs';
import { startRedis } from './redis-server.mjs';
import { report } from './report.mjs';
import { isQuick, ONE_TIER, THREE_TIERS } from './settings.mjs';

const SCENARIOS = {
  oneTier: (redis) => decisions(redis, ONE_TIER),
  threeTiers: (redis) => decisions(redis, THREE_TIERS),
  inProcess,
  http,
  memoryPerKey,
  attack,
  growth,
};

const start = performance.now();
const results = { machine: machine(), isQuick };
const redis = await startRedis();
try {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    console.error(`${seconds()} s: ${name}`);
    results[name] = await scenario(redis);
  }
} finally {
  await redis.stop();
}
results.figures = figures(results);
console.log(await report(results));
console.error(`${seconds()} s: done`);
process.exit();

function seconds() {
  return ((performance.now() - start) / 1_000).toFixed(0);
}
