import { Controller, Get } from '@nestjs/common';
import { LimiterService, RateLimit, SkipRateLimit, monotonicClock } from '../../src/index.js';
import { StoreWatch } from '../../src/store-watch.js';
import { eventually } from '../support/eventually.js';
import { platforms, type Platform, type RunningApp } from '../support/platforms.js';
import { Stops } from './stops.js';

const LONG = 'fixed-window:3/1d';

@Controller()
class Shop {
  @Get('login')
  @RateLimit({ policy: LONG, onStoreFailure: 'closed' })
  login() {}

  @Get('search')
  @RateLimit({ policy: LONG })
  search() {}

  @Get('news')
  @RateLimit({ policy: LONG, onStoreFailure: 'open' })
  news() {}

  @Get('health')
  @SkipRateLimit()
  health() {}

  @Get('pay')
  @RateLimit([
    { name: 'strict', policy: LONG, onStoreFailure: 'closed' },
    { name: 'shared', scope: 'shared', policy: LONG },
  ])
  pay() {}

  @Get('browse')
  @RateLimit([
    { name: 'lax', policy: LONG, onStoreFailure: 'open' },
    { name: 'shared', scope: 'shared', policy: LONG },
  ])
  browse() {}
}

const stops = new Stops();

/** Whose Redis has died. */
async function bereft({ start }: Platform): Promise<RunningApp> {
  const server = await stops.server();
  const running = await start({
    rateLimit: { clock: monotonicClock, redis: server.url },
    controllers: [Shop],
  });
  await running.ask('/news');
  await server.kill();
  const { health } = running.app.get(StoreWatch);
  await eventually('it is away', async () => {
    await running.ask('/news');
    return health.status.state === 'down';
  });
  return running;
}

describe.each(platforms)('while Redis is away, on $name', (platform) => {
  it('each route keeps to its own policy (RED-48, RED-50)', async () => {
    const { ask } = await bereft(platform);
    const statuses = async (path: string): Promise<number[]> => {
      const answers = [];
      for (let n = 0; n < 5; n++) answers.push((await ask(path)).status);
      return answers;
    };

    expect(await statuses('/login')).toEqual([503, 503, 503, 503, 503]);
    expect(await statuses('/search')).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses('/news')).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses('/health')).toEqual([200, 200, 200, 200, 200]);
    const { status, headers, body } = await ask('/login');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(body.type).toMatch(/#temporary-reduced-capacity$/);
  });

  it('tiers of one request are obeyed each, and a closed one charges nothing (RED-50)', async () => {
    const { ask } = await bereft(platform);

    for (let n = 0; n < 5; n++) expect((await ask('/pay')).status).toBe(503);
    const browsing = [];
    for (let n = 0; n < 4; n++) browsing.push((await ask('/browse')).status);

    expect(browsing).toEqual([200, 200, 200, 429]);
  });

  it('an open one is counted, says so without a line a request, and invents no numbers (RED-49)', async () => {
    const { ask, app, log } = await bereft(platform);
    const { health } = app.get(StoreWatch);
    const before = health.status.failedOver.open;
    const lines = log.length;

    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('/news')));

    expect(health.status.failedOver.open - before).toBe(50);
    // Attempts to connect are told at debug level, whoever asks meanwhile.
    const told = log.slice(lines).filter(({ level }) => level !== 'debug');
    expect(told.slice(1)).toEqual([]);
    for (const { status, headers } of answers) {
      expect(status).toBe(200);
      expect(Object.keys(headers).join()).not.toMatch(/ratelimit/);
    }
  });

  it('the service answers by the policy too', async () => {
    const { app } = await bereft(platform);
    const limiter = app.get(LimiterService);
    const closed = { name: 'sms', policy: LONG, onStoreFailure: 'closed' } as const;

    expect(await limiter.consume(closed, 'key')).toMatchObject({
      allowed: false,
      source: 'closed',
      retryAfterMs: 1_000,
    });
  });
});
