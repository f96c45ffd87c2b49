import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  LimiterService,
  RATE_LIMIT_REDIS,
  RateLimitModule,
  RateLimitStore,
  type RateLimitOptions,
} from '../../src/index.js';
import { bootError } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';

const EDGE: RateLimitOptions = {
  tiers: [{ name: 'edge', by: 'ip', policy: 'fixed-window:5/1d', phase: 'edge' }],
};

function rootModule(options: RateLimitOptions): new () => object {
  @Module({ imports: [RateLimitModule.forRoot(options)] })
  class RootModule {}
  return RootModule;
}

describe('an app without HTTP', () => {
  it.each([
    ['a worker', () => NestFactory.createApplicationContext(rootModule(EDGE), { logger: false })],
    [
      'a microservice',
      () =>
        NestFactory.createMicroservice(rootModule(EDGE), {
          logger: false,
          transport: Transport.TCP,
          options: { port: 0 },
        }),
    ],
  ])('limits in %s, whose edge nobody passes', async (_kind, create) => {
    const app = await create();

    expect(await app.get(LimiterService).consume('edge', 'job')).toMatchObject({ allowed: true });
    await app.close();
  });
});

describe('RATE_LIMIT_REDIS', () => {
  it('keeps the configured connection from being opened when a test provides another', async () => {
    const server = await RedisServer.start();
    const own = new Redis(server.url);
    const app = await Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ redis: 'redis://127.0.0.1:9' })],
    })
      .overrideProvider(RATE_LIMIT_REDIS)
      .useValue(own)
      .compile();

    const decision = await app
      .get(LimiterService)
      .consume({ name: 'x', policy: 'gcra:10/1m' }, 'key');
    await app.close();

    expect(decision.source).toBe('redis');
    expect(own.status).toBe('ready');
    own.disconnect();
    await server.stop();
  });
});

describe('a store of the app', () => {
  it('that answers too few decisions is away', async () => {
    class Mute extends RateLimitStore {
      decide(): Promise<never[]> {
        return Promise.resolve([]);
      }
    }
    const app = await Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ store: new Mute() })],
    })
      .setLogger(false as never)
      .compile();

    const decision = await app
      .get(LimiterService)
      .consume({ name: 'x', policy: 'gcra:10/1m' }, 'key');

    expect(decision.source).toBe('fallback');
    await app.close();
  });
});

describe('what cannot connect', () => {
  it.each<[redis: unknown, said: string]>([
    [null, 'redis: received null, expected a Redis URL'],
    [{}, 'redis: received an object, expected a Redis URL'],
    [new Map(), 'redis: received an object, expected a Redis URL'],
    [{ cluster: [] }, 'redis.cluster: received an empty array, expected an array of one node'],
  ])('fails at boot: %j', async (redis, said) => {
    expect(await bootError({ redis })).toContain(`RateLimit: ${said}`);
  });

  it('says why in one line', async () => {
    const lines: string[] = [];
    const app = await NestFactory.createApplicationContext(
      rootModule({ redis: 'redis://127.0.0.1:9' }),
      {
        logger: {
          log: () => undefined,
          warn: () => undefined,
          error: (line: string) => lines.push(line),
        },
      },
    );
    await app.get(LimiterService).consume({ name: 'x', policy: 'gcra:10/1m' }, 'key');
    await app.close();

    expect(lines).toEqual([
      expect.stringMatching(/^Redis did not answer within 2000 ms \(connect ECONNREFUSED .*\)/),
      expect.stringMatching(/^the store failed, .*: connect ECONNREFUSED .* \(not-sent\)$/),
    ]);
  });
});

describe('forRootAsync', () => {
  it.each<[options: object, said: string]>([
    [{}, 'forRootAsync: expected one of useFactory, useClass, useExisting'],
    [
      { useFactory: () => ({}), registerGaurd: false },
      "forRootAsync: unknown option 'registerGaurd'; did you mean 'registerGuard'?",
    ],
    [{ useFactory: () => ({}), isGlobal: 'x' }, "isGlobal: received 'x', expected true or false"],
  ])('refuses %j', (options, said) => {
    expect(() => RateLimitModule.forRootAsync(options)).toThrow(`RateLimit: ${said}`);
  });
});
