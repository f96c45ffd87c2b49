import { Controller, Get } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LimiterService, RATE_LIMIT_REDIS, type TierOptions } from '../../src/index.js';
import { expectRefusal } from '../../src/testing/index.js';
import { platforms, type RateLimit as Options } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';

const perHour = (limit: number) => `token-bucket:${limit}/1h` as const;

@Controller()
class Search {
  @Get('find') find() {}
}

describe.each(platforms)('with Redis, on $name', ({ name, start }) => {
  let server: RedisServer;
  let tests = 0;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  const startSearch = (tiers: TierOptions[], more: Options = {}) =>
    start({
      rateLimit: {
        redis: server.url,
        prefix: `${name}-${tests++}`,
        timeoutMs: 2_000,
        tiers,
        ...more,
      },
      controllers: [Search],
    });

  it('admits exactly the limit of a parallel burst over two apps (SEC-54)', async () => {
    const redis = new Redis(server.url);
    const tiers: TierOptions[] = [{ name: 'plan', policy: perHour(10) }];
    const apps = [
      await startSearch(tiers, { prefix: `${name}-shared` }),
      await startSearch(tiers, { prefix: `${name}-shared`, redis }),
    ];

    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => apps[n % 2]!.ask('/find')),
    );
    redis.disconnect();

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  it('charges no tier when one refuses, and tells them all (SEC-55)', async () => {
    const { ask } = await startSearch(
      [
        { name: 'burst', policy: perHour(2) },
        { name: 'daily', policy: 'gcra:1000/1d,burst=10' },
      ],
      { headers: ['draft-8'] },
    );
    for (let n = 0; n < 4; n++) await ask('/find');

    const refused = await ask('/find');

    expectRefusal(refused);
    expect(refused.headers['ratelimit']).toMatch(/^"burst";r=0;t=\d+, "daily";r=8;t=\d+$/);
    expect(refused.headers['ratelimit-policy']).toBe('"burst";q=2;w=3600, "daily";q=1000;w=86400');
    expect(refused.body).toMatchObject({ 'violated-policies': ['burst'] });
  });

  it('counts edge, guard and handler tiers', async () => {
    const { ask, admitted } = await startSearch(
      [
        { name: 'front', policy: perHour(9), phase: 'edge' },
        { name: 'plan', policy: perHour(8) },
        { name: 'late', policy: perHour(3), phase: 'handler' },
      ],
      { headers: ['draft-8'] },
    );

    expect((await ask('/find')).headers['ratelimit']).toMatch(
      /^"front";r=8;t=\d+, "plan";r=7;t=\d+, "late";r=2;t=\d+$/,
    );
    expect(await admitted('/find', 5)).toBe(2);
  });

  it('keeps what the tiers of forRoot count of a client in one value', async () => {
    const prefix = `${name}-values`;
    const tiers: TierOptions[] = [
      { name: 'front', policy: perHour(9), phase: 'edge' },
      { name: 'burst', policy: 'sliding-window-counter:8/1m' },
      { name: 'everybody', policy: perHour(100), by: 'global' },
      { name: 'daily', algorithm: 'gcra', limit: () => 7, window: '1d', burst: () => 7 },
      { name: 'exact', policy: 'sliding-window-log:6/1h' },
    ];
    const { ask, app } = await startSearch(tiers, { prefix, headers: ['draft-8'] });
    const redis = app.get<Redis>(RATE_LIMIT_REDIS);
    const limiter = app.get(LimiterService);
    const ip = { kind: 'ip', id: '127.0.0.1' } as const;

    for (let n = 0; n < 2; n++) await ask('/find');
    const answer = await ask('/find');

    // The client's, everybody's, and the log, which grows.
    expect(await redis.keys(`${prefix}{*`)).toHaveLength(3);
    expect(answer.headers['ratelimit']).toMatch(
      /^"front";r=6;t=\d+, "burst";r=5;t=\d+, "everybody";r=97;t=\d+, "daily";r=4;t=\d+, "exact";r=3;t=\d+$/,
    );
    const daily = { name: 'daily', policy: 'gcra:7/1d,burst=7' } as const;
    expect(await limiter.consume(daily, ip, { cost: 3 })).toMatchObject({ remaining: 1 });
    expect(await limiter.reset('burst', ip)).toMatchObject({ remaining: 8 });
    expect(await limiter.block('front', ip, '1h')).toMatchObject({ remaining: 0 });
    expect(await limiter.peek(daily, ip)).toMatchObject({ remaining: 1 });
    expect((await ask('/find')).status).toBe(429);
    expect(await limiter.unblock('front', ip)).toMatchObject({ remaining: 6 });
    expect((await ask('/find')).headers['ratelimit']).toMatch(
      /^"front";r=5;t=\d+, "burst";r=7;.*"daily";r=0;t=\d+, "exact";r=2;t=\d+$/,
    );
    expect(await redis.keys(`${prefix}{*`)).toHaveLength(3);
    for (const key of await redis.keys(`${prefix}{*`)) {
      expect(await redis.pttl(key)).toBeGreaterThan(0);
    }
  });

  it('keeps no identity in Redis, and a TTL on every key (SEC-16, SEC-56)', async () => {
    const { ask, app } = await startSearch([{ name: 'plan', policy: perHour(20) }], {
      identity: { apiKey: { verify: () => null }, secret: '0123456789abcdef' },
      prefix: `${name}-keys`,
    });
    for (let n = 0; n < 10; n++) await ask('/find', { headers: { 'x-api-key': `sk_live_${n}` } });

    const redis = app.get<Redis>(RATE_LIMIT_REDIS);
    const keys = await redis.keys(`${name}-keys{*`);

    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatch(/:[\w-]{22}$/);
    expect(await redis.pttl(keys[0]!)).toBeGreaterThan(0);
  });

  // Last: the server is gone after it.
  it('does as each failure policy says when Redis has gone', async () => {
    const started = [];
    for (const onStoreFailure of ['closed', 'open', 'local'] as const) {
      started.push(
        await startSearch([{ name: 'plan', policy: perHour(4) }], { onStoreFailure, instances: 2 }),
      );
    }
    const [closed, open, local] = started as [
      (typeof started)[0],
      (typeof started)[0],
      (typeof started)[0],
    ];
    for (const { ask } of started) await ask('/find');
    await server.kill();

    const refused = await closed.ask('/find');
    const admitted = await open.ask('/find');

    expectRefusal(refused, { status: 503 });
    expect(refused.headers).not.toHaveProperty('x-ratelimit-limit');
    expect(refused.text).not.toMatch(/redis|ECONN/i);
    expect(admitted.status).toBe(200);
    expect(admitted.headers).not.toHaveProperty('x-ratelimit-limit');
    // of its share of 2 it has admitted one already
    expect(await local.admitted('/find', 5)).toBe(1);
    // Whichever of the apps holds Nest's logger now: the first failure of each, and no other, but that
    // the breaker of the last one opened.
    const lines = started.flatMap(({ log }) => log.filter(({ level }) => level === 'error'));
    const said = lines.map(({ text }) => text.slice(0, text.indexOf(',')));
    expect(said.toSorted()).toEqual([
      'the store failed',
      'the store failed',
      'the store failed',
      'the store is away',
    ]);
  });
});
