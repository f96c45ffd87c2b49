// Usage: fork('worker.mjs', [redisUrl]); decides as often as it can when it is told to.
import 'reflect-metadata';
import { sluice } from '../contenders/sluice.mjs';
import { measure } from '../measure.mjs';
import { THREE_TIERS } from '../settings.mjs';

const [, , redisUrl] = process.argv;
const contender = sluice(THREE_TIERS);
await contender.setUp(redisUrl);

process.on('message', (options) => void answer(options));
process.on('disconnect', () => process.exit());
process.send('ready');

async function answer(options) {
  const redis = { cpuUs: () => 0 };
  const { decisionsPerSecond, nodeCpuUs } = await measure(contender, redis, options);
  const decisions = (decisionsPerSecond * options.ms) / 1_000;
  process.send({ decisions, perSecond: decisionsPerSecond, nodeUs: nodeCpuUs * decisions });
}
