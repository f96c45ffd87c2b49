// Usage: fork('app.mjs', [platform, limiter, tiers, redisUrl]); sends its port, and its CPU when asked.
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { connect } from '../redis-client.mjs';
import { LIMIT, ONE_TIER, THREE_TIERS } from '../settings.mjs';
import { RateLimitModule } from '../sluice.mjs';

const [, , platform, limiter, tierCount, redisUrl] = process.argv;
const tiers = tierCount === '3' ? THREE_TIERS : ONE_TIER;
const limiters = {
  none: () => ({}),
  'idle guard': withIdleGuard,
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

/** What any limiter of three tiers costs before it has limited: an address, a turn, three headers. */
function withIdleGuard() {
  class IdleGuard {
    canActivate(context) {
      const { ip } = context.switchToHttp().getRequest();
      const response = context.switchToHttp().getResponse();
      const set = (name, value) => app.getHttpAdapter().setHeader(response, name, value);
      return new Promise((resolve) => {
        setImmediate(() => {
          set('X-RateLimit-Limit', String(LIMIT));
          set('X-RateLimit-Remaining', String(LIMIT - 1));
          set('X-RateLimit-Reset', '1');
          resolve(ip !== undefined);
        });
      });
    }
  }
  return { providers: [{ provide: APP_GUARD, useClass: IdleGuard }] };
}

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
