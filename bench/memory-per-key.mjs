import { setTimeout as sleep } from 'node:timers/promises';
import { rateLimitRedis } from './contenders/rate-limit-redis.mjs';
import { rateLimiterFlexible } from './contenders/rate-limiter-flexible.mjs';
import { sluice } from './contenders/sluice.mjs';
import { throttler } from './contenders/throttler.mjs';
import { KEYS, MINUTE, ONE_TIER } from './settings.mjs';

const ALGORITHMS = [
  'fixed-window',
  'sliding-window-counter',
  'token-bucket',
  'gcra',
  'leaky-bucket',
];
const ENTRIES = [20, 100, 1_000];
const LOG_KEYS = KEYS.slice(0, 100);

/** Bytes that one client costs in Redis: by MEMORY USAGE of its keys, and by what used_memory grew. */
export async function memoryPerKey(redis) {
  const counters = {};
  for (const algorithm of ALGORITHMS) {
    counters[algorithm] = await weighContender(redis, sluice(ONE_TIER, { algorithm }));
  }
  for (const peer of [rateLimiterFlexible, throttler, rateLimitRedis]) {
    const contender = peer(ONE_TIER);
    counters[contender.name] = await weighContender(redis, contender);
  }
  const logs = {};
  for (const entries of ENTRIES) {
    logs[entries] = {
      log: await weighLog(redis, entries),
      sortedSet: await weighSortedSets(redis, entries),
    };
  }
  return { counters, logs };
}

async function weighContender(redis, contender) {
  await redis.flush();
  await contender.setUp(redis.url);
  // Buffers of the connection and the script are there before the first weighing.
  await askAll(contender, KEYS);
  await redis.flush();
  const before = await redis.usedMemory();
  for (let count = 0; count < 3; count++) await askAll(contender, KEYS);
  const weight = await weigh(redis, KEYS.length, before);
  await contender.tearDown();
  return weight;
}

function askAll(contender, keys) {
  return Promise.all(keys.map((key) => contender.decide(key)));
}

async function weighLog(redis, entries) {
  const contender = sluice([MINUTE], { algorithm: 'sliding-window-log', limit: 2 * entries });
  await redis.flush();
  await contender.setUp(redis.url);
  await askAll(contender, LOG_KEYS);
  await redis.flush();
  const before = await redis.usedMemory();
  for (let entry = 0; entry < entries; entry++) {
    await askAll(contender, LOG_KEYS);
    // Entries of one millisecond would be one.
    await sleep(2);
  }
  const weight = await weigh(redis, LOG_KEYS.length, before);
  await contender.tearDown();
  return weight;
}

/** At its thriftiest: the member is the time in microseconds, a whole number of 16 digits. */
async function weighSortedSets(redis, entries) {
  await redis.flush();
  const before = await redis.usedMemory();
  const now = Date.now();
  for (const key of LOG_KEYS) {
    const scored = Array.from({ length: entries }, (_, entry) => [
      now + 2 * entry,
      `${now + 2 * entry}${String(entry % 1_000).padStart(3, '0')}`,
    ]);
    // One by one, as requests come.
    await Promise.all(scored.map((pair) => redis.admin.zadd(`log:{aaa}:${key}`, ...pair)));
    await redis.admin.pexpire(`log:{aaa}:${key}`, MINUTE.windowMs);
  }
  return weigh(redis, LOG_KEYS.length, before);
}

async function weigh(redis, clients, before) {
  const grown = (await redis.usedMemory()) - before;
  const keys = await redis.admin.keys('*');
  const sizes = await Promise.all(keys.map((key) => redis.admin.memory('USAGE', key)));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return { memoryUsage: total / clients, usedMemory: grown / clients };
}
