// Usage: fork('app.mjs', [platform, limiter, tiers, redisUrl]); sends its port, and its CPU when asked.
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { connect } from '/work/main/bench/redis-client.mjs';
import { LIMIT, ONE_TIER, THREE_TIERS } from '/work/main/bench/settings.mjs';
import { RateLimitModule } from '/work/main/bench/sluice.mjs';

const [, , platform, limiter, tierCount, redisUrl] = process.argv;
const tiers = tierCount === '3' ? THREE_TIERS : ONE_TIER;
const limiters = {
  guard: () => floor('guard'),
  async: () => floor('async'),
  headers: () => floor('headers'),
  ip: () => floor('ip'),
  none: () => ({}),
  'nestjs-sluice': withSluice,
  '@nestjs/throttler': withThrottler,
};

class HelloController {
  hello() {
    return { hello: 'world' };
  }
}
const { prototype } = HelloController;
Get()(prototype, 'hello', Object.getOwnPropertyDescriptor(prototype, 'hello'));
Controller('hello')(HelloController);

class App {}
Module({ controllers: [HelloController], ...(await limiters[limiter]()) })(App);

// Clients are told apart by X-Forwarded-For, as behind a proxy on this machine.
const adapter =
  platform === 'express' ? new ExpressAdapter() : new FastifyAdapter({ trustProxy: 'loopback' });
const app = await NestFactory.create(App, adapter, { logger: ['error', 'warn'] });
if (platform === 'express') app.set('trust proxy', 'loopback');
await app.listen(0, '127.0.0.1');

process.on('message', () => process.send({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit());
process.send({ port: app.getHttpServer().address().port });

function withSluice() {
  const written = tiers.map(({ name, windowMs }) => ({
    name,
    algorithm: 'fixed-window',
    limit: LIMIT,
    window: windowMs,
  }));
  return {
    imports: [
      RateLimitModule.forRoot({
        redis: redisUrl,
        identity: { secret: 'a secret of the benchmark' },
        tiers: written,
      }),
    ],
  };
}

/** Its storage is given auto pipelining too: with 64 connections that is the faster for it. */
async function withThrottler() {
  const storage = new ThrottlerStorageRedisService(
    await connect(redisUrl, { autoPipelining: true }),
  );
  const throttlers = tiers.map(({ name, windowMs }) => ({ name, ttl: windowMs, limit: LIMIT }));
  return {
    imports: [ThrottlerModule.forRoot({ throttlers, storage })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}
function floor(kind) {
  class G {
    canActivate(context) {
      if (kind === 'guard') return true;
      const http = context.switchToHttp();
      const req = http.getRequest();
      const res = http.getResponse();
      if (kind === 'ip') {
        const ip = req.ip;
        if (!ip) return false;
      }
      return new Promise((resolve) =>
        setImmediate(() => {
          if (kind !== 'async') {
            res.header(
              'RateLimit-Policy',
              '"second";q=1000000000;w=1, "minute";q=1000000000;w=60, "hour";q=1000000000;w=3600',
            );
            res.header('RateLimit', '"second";r=999999999;t=1');
          }
          resolve(true);
        }),
      );
    }
  }
  return { providers: [{ provide: APP_GUARD, useClass: G }] };
}
