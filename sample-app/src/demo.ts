import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Checks } from './demo/checks.js';
import { endpoints } from './demo/endpoints.js';
import { outbound } from './demo/outbound.js';
import { plans } from './demo/plans.js';
import { RedisServer } from './demo/redis-server.js';
import { counters } from './demo/counters.js';
import { threeTiers } from './demo/three-tiers.js';
import { Traffic } from './demo/traffic.js';
import { PartnerApi } from './webhooks/partner.api.js';

/** Starts the app, sends it real traffic, and fails when its limits do not hold. */
async function main(): Promise<void> {
  const redis = process.env.REDIS_URL ? undefined : await RedisServer.start();
  if (redis !== undefined) process.env.REDIS_URL = redis.url;
  try {
    if (!(await demonstrate())) process.exitCode = 1;
  } finally {
    await redis?.stop();
  }
}

async function demonstrate(): Promise<boolean> {
  // Counters of its own: the limits of an earlier run are not used up.
  process.env.RATE_LIMIT_PREFIX = `demo-${process.pid}-${Date.now()}`;
  // Of no use in production: here a busy machine must not look like Redis being away.
  process.env.RATE_LIMIT_TIMEOUT_MS = '5000';

  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
  await app.listen(0, '127.0.0.1');
  try {
    const traffic = new Traffic(await app.getUrl());
    const checks = new Checks();
    await counters(traffic, checks, process.env.REDIS_URL);
    const seen = await endpoints(traffic, checks);
    threeTiers(seen.get('POST /messages') ?? [], checks);
    await outbound(traffic, app.get(PartnerApi, { strict: false }), checks);
    await plans(traffic, checks);
    console.log();
    return checks.report();
  } finally {
    await app.close();
  }
}

void main();
