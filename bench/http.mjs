import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { alternate } from './rounds.mjs';
import { CONNECTIONS, HTTP_ROUND_MS, HTTP_WARM_UP_MS, ROUNDS } from './settings.mjs';

const PLATFORMS = ['fastify', 'express'];
const APPS = [
  { name: 'none', limiter: 'none', tiers: 0 },
  { name: 'a guard that limits nothing', limiter: 'idle guard', tiers: 3 },
  { name: 'nestjs-sluice, one tier', limiter: 'nestjs-sluice', tiers: 1 },
  { name: 'nestjs-sluice, three tiers', limiter: 'nestjs-sluice', tiers: 3 },
  { name: '@nestjs/throttler, one tier', limiter: '@nestjs/throttler', tiers: 1 },
  { name: '@nestjs/throttler, three tiers', limiter: '@nestjs/throttler', tiers: 3 },
];

/** The same Nest app with different limiters: each in a process of its own, the load from this one. */
export async function http(redis) {
  const results = {};
  for (const platform of PLATFORMS) {
    await redis.flush();
    const apps = await Promise.all(APPS.map((app) => start(platform, app, redis.url)));
    for (const app of apps) await load(app, HTTP_WARM_UP_MS);
    results[platform] = await alternate(apps, ROUNDS, (app) => load(app, HTTP_ROUND_MS));
    for (const { child } of apps) child.disconnect();
  }
  return results;
}

async function start(platform, { name, limiter, tiers }, redisUrl) {
  const script = join(import.meta.dirname, 'http/app.mjs');
  const child = fork(script, [platform, limiter, String(tiers), redisUrl]);
  const port = await Promise.race([
    once(child, 'message').then(([message]) => message.port),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${name} ended: ${code}`))),
  ]);
  return { name, child, url: `http://127.0.0.1:${port}/hello` };
}

async function load({ name, child, url }, ms) {
  let clients = 0;
  const before = await cpuUs(child);
  const began = performance.now();
  const { requests, latency, non2xx, errors } = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: ms / 1_000,
    // It can only stop when it samples.
    sampleInt: 50,
    // Each connection is another client, or three tiers would share three keys in all.
    setupClient: (client) =>
      client.setHeaders({ 'x-forwarded-for': `203.0.113.${(clients++ % CONNECTIONS) + 1}` }),
  });
  const seconds = (performance.now() - began) / 1_000;
  if (non2xx + errors > 0 || requests.total === 0) {
    throw new Error(`${name}: ${non2xx} refusals, ${errors} errors, ${requests.total} answers`);
  }
  const cpu = (await cpuUs(child)) - before;
  return {
    requestsPerSecond: requests.total / seconds,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
    nodeCpuUs: cpu / requests.total,
    appBusy: cpu / 1e6 / seconds,
  };
}

async function cpuUs(child) {
  child.send('cpu');
  const [{ cpu }] = await once(child, 'message');
  return cpu.user + cpu.system;
}
