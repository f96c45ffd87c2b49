import { Controller, Get, Query } from '@nestjs/common';
import { HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import {
  LimiterService,
  MemoryStore,
  RateLimitEvents,
  RateLimitStore,
  type LimiterStatus,
} from '../../src/index.js';
import { RateLimitHealthIndicator } from '../../src/terminus/index.js';
import { eventually } from '../support/eventually.js';
import { platforms, type Platform, type RateLimit, type RunningApp } from '../support/platforms.js';
import { RedisServer, startCluster } from '../support/redis-server.js';

@Controller()
class Health {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly limits: RateLimitHealthIndicator,
  ) {}

  @Get('find') find() {}

  @Get('health') health(@Query('when') unhealthyWhen?: 'down' | 'degraded' | 'never') {
    const options = unhealthyWhen === undefined ? undefined : { unhealthyWhen };
    return this.checks.check([() => this.limits.isHealthy('rate-limit', options)]);
  }
}

const running = ({ start }: Platform, rateLimit: RateLimit): Promise<RunningApp> =>
  start({
    rateLimit: { exempt: { paths: ['/health'] }, ...rateLimit },
    imports: [TerminusModule.forRoot({ logger: false })],
    controllers: [Health],
    providers: [RateLimitHealthIndicator],
  });

/** The status of the answer, that of all checks, and what the indicator tells. */
async function health({ ask }: RunningApp, query = ''): Promise<unknown[]> {
  const { status, body } = await ask(`/health${query}`);
  return [status, body.status as unknown, body.details['rate-limit'] as unknown];
}

const isDown = async (app: RunningApp): Promise<boolean> => (await health(app))[0] === 503;
const statusOf = ({ app }: RunningApp): LimiterStatus => app.get(LimiterService).status();
const forMs = expect.any(Number);
const none = { failures: {}, failedOver: { local: 0, open: 0, closed: 0 }, owed: 0 };
const tiers = [{ name: 'plan', policy: 'fixed-window:100/1h' }] as const;

const stops: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function redisServer(): Promise<RedisServer> {
  const server = await RedisServer.start();
  stops.push(() => server.stop());
  return server;
}

describe.each(platforms)('health on $name', (platform) => {
  it('follows a Redis that dies and comes back, though nobody asks the app for anything', async () => {
    const server = await redisServer();
    const app = await running(platform, { redis: server.url, tiers: [...tiers] });

    expect(await health(app)).toEqual([
      200,
      'ok',
      { status: 'up', store: 'redis', state: 'up', forMs },
    ]);

    await server.kill();
    await eventually('the outage is found', () => isDown(app));
    const { status, text, body } = await app.ask('/health');
    expect([status, body.details['rate-limit']]).toEqual([
      503,
      { status: 'down', store: 'redis', state: 'down', forMs, reason: 'not-sent' },
    ]);
    // An answer that anybody may ask for names no server.
    expect(text).not.toMatch(/ECONN|127\.0|6379|redis:\/\//);
    for (const when of ['never', 'degraded']) {
      expect((await health(app, `?when=${when}`)).slice(0, 2)).toEqual(
        when === 'never' ? [200, 'degraded'] : [503, 'error'],
      );
    }

    await server.restart();
    await eventually('its return is found', async () => !(await isDown(app)));
    expect(statusOf(app)).toMatchObject({ state: 'up', owed: 0, failedOver: none.failedOver });
  });

  it('refuses a state that there is none of', async () => {
    const app = await running(platform, {});

    const { status } = await app.ask('/health?when=always');

    expect(status).toBe(500);
  });

  it.each<[store: string, options: () => RateLimit]>([
    ['memory', () => ({ tiers: [...tiers] })],
    ['none', () => ({ enabled: false, redis: 'redis://127.0.0.1:9', tiers: [...tiers] })],
    ['custom', () => ({ store: new MemoryStore(), tiers: [...tiers] })],
  ])('is up where the store is %s', async (store, options) => {
    const app = await running(platform, options());
    await app.ask('/find');

    expect(await health(app)).toEqual([200, 'ok', { status: 'up', store, state: 'up', forMs }]);
    expect(statusOf(app)).toEqual({ store, state: 'up', forMs, ...none });
  });
});

const [express] = platforms as [Platform, Platform];

class Failing extends RateLimitStore {
  override decide(): Promise<never> {
    return Promise.reject(new Error('the ledger of acme is closed'));
  }
}

describe('LimiterService.status', () => {
  it('tells an outage as it was, and what is owed', async () => {
    const server = await redisServer();
    const app = await running(express, { redis: server.url, tiers: [...tiers], instances: 2 });
    await app.ask('/find');
    await server.kill();

    for (let n = 0; n < 10; n++) await app.ask('/find', { from: `127.0.0.${2 + (n % 3)}` });

    const status = statusOf(app);
    expect(status).toEqual({
      store: 'redis',
      state: 'down',
      forMs,
      reason: { kind: 'not-sent', message: expect.stringMatching(/not connected to Redis/) },
      failures: { 'not-sent': expect.any(Number) },
      failedOver: { local: 10, open: 0, closed: 0 },
      owed: 3,
    });
    expect(JSON.parse(JSON.stringify(status))).toEqual(status);
  });

  it('is of its time: what happens later does not change it', async () => {
    const app = await running(express, { store: new Failing(), tiers: [...tiers] });
    const before = statusOf(app);

    for (let n = 0; n < 10; n++) await app.ask('/find');

    expect(before).toMatchObject({ store: 'custom', state: 'up', ...none });
    expect(statusOf(app).failures).not.toEqual({});
  });

  it('asks nobody; probe does, once at a time, and never rejects', async () => {
    let asked = 0;
    class Counting extends MemoryStore {
      override decide(
        ...args: Parameters<MemoryStore['decide']>
      ): ReturnType<MemoryStore['decide']> {
        asked++;
        return super.decide(...args);
      }
    }
    const counting = (await running(express, { store: new Counting() })).app.get(LimiterService);
    const failing = (await running(express, { store: new Failing() })).app.get(LimiterService);

    counting.status();
    expect(asked).toBe(0);
    await Promise.all([counting.probe(), counting.probe()]);
    expect(asked).toBe(1);
    expect(await failing.probe()).toMatchObject({ store: 'custom', failures: { ambiguous: 1 } });
  });
});

it('tells parts of a cluster that are away', async () => {
  const cluster = await startCluster({ masters: 3 });
  stops.push(() => cluster.stop());
  const app = await running(express, { redis: { cluster: [...cluster.nodes] }, tiers: [...tiers] });
  const told: string[] = [];
  app.app.get(RateLimitEvents).on('store', ({ state }) => told.push(state));
  expect(await health(app)).toEqual([
    200,
    'ok',
    { status: 'up', store: 'redis', state: 'up', forMs },
  ]);

  await cluster.masters[0]!.kill();
  await eventually('a part is away', async () => (await health(app))[1] === 'degraded');

  const [status, all, details] = await health(app, '?when=degraded');
  expect([status, all]).toEqual([503, 'error']);
  expect(details).toMatchObject({ status: 'down', state: 'degraded' });
  expect(told[0]).toBe('degraded');
});

it('is up for a Terminus that knows no third state', async () => {
  const server = await redisServer();
  const { app } = await running(express, { redis: server.url });
  const limits = new RateLimitHealthIndicator(
    {
      check: (key: string) => ({
        up: (details: object) => ({ [key]: { status: 'up', ...details } }),
        down: (details: object) => ({ [key]: { status: 'down', ...details } }),
      }),
    } as unknown as HealthIndicatorService,
    app.get(LimiterService),
  );
  await server.kill();
  await eventually('the outage is found', async () => {
    const { key } = await limits.isHealthy('key');
    return key.status === 'down';
  });

  const { key } = await limits.isHealthy('key', { unhealthyWhen: 'never' });

  expect(key).toMatchObject({ status: 'up', state: 'down', reason: 'not-sent' });
});
