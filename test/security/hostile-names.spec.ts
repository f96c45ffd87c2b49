import { Controller, Get } from '@nestjs/common';
import { LimiterService, type TierOptions } from '../../src/index.js';
import { platforms } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';

/** What every object answers to, and what a store might take for its own. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'then',
];

@Controller()
class Target {
  @Get() get() {
    return 'got';
  }
}

describe.each(platforms)('names that objects have of their own, on $name (SEC-48)', ({ start }) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  let apps = 0;
  const serve = (where: string, tiers: TierOptions[]) =>
    start({
      controllers: [Target],
      rateLimit: {
        ...(where === 'Redis' && { redis: server.url, timeoutMs: 5_000 }),
        prefix: `names-${apps++}`,
        headers: ['x-ratelimit', 'draft-8'],
        identity: { apiKey: { verify: (id) => ({ id, plan: id }) } },
        tiers,
      },
    });

  describe.each(['Redis', 'process'])('counted in %s', (where) => {
    it('are tiers like any other', async () => {
      const tiers = NAMES.map((name): TierOptions => ({ name, policy: 'fixed-window:3/1h' }));
      const { ask, admitted } = await serve(where, tiers);

      const { headers } = await ask('/');
      for (const name of NAMES) expect(headers['ratelimit']).toContain(`"${name}";r=2;`);

      expect(await admitted('/', 5)).toBe(2);
      expect((await ask('/')).body['violated-policies']).toEqual(NAMES);
    });

    it('are clients of their own', async () => {
      const { admitted } = await serve(where, [{ name: 'plan', policy: 'fixed-window:2/1h' }]);

      for (const name of NAMES) {
        expect(await admitted('/', 4, { headers: { 'x-api-key': name } })).toBe(2);
      }
      expect(await admitted('/', 4)).toBe(2);
    });

    it('are keys of their own, and no tiers that are known', async () => {
      const { app } = await serve(where, [{ name: 'plan', policy: 'fixed-window:2/1h' }]);
      const limiter = app.get(LimiterService);

      for (const name of NAMES) {
        const policy = { name, policy: 'fixed-window:2/1h' } as const;
        expect(await limiter.consume(policy, name, { cost: 2 })).toMatchObject({ remaining: 0 });
        expect(await limiter.peek(policy, `${name} `)).toMatchObject({ remaining: 2 });
        await expect(limiter.consume(name, 'any')).rejects.toThrow(name);
      }
    });
  });
});
