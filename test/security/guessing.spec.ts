import { Controller, Get } from '@nestjs/common';
import { LimiterService, type RateLimitOptions, type TierOptions } from '../../src/index.js';
import { platforms } from '../support/platforms.js';

@Controller()
class Target {
  @Get() get() {
    return 'got';
  }
}

const front = {
  name: 'front',
  by: 'ip',
  phase: 'edge',
  algorithm: 'fixed-window',
  window: '1h',
} as const;

describe.each(platforms)('API keys guessed at the same time, on $name', ({ start }) => {
  it.each<[string, TierOptions, Partial<RateLimitOptions>]>([
    ['fixed numbers', { ...front, limit: 3 }, {}],
    ['fixed numbers, in the guard phase', { ...front, phase: 'guard', limit: 3 }, {}],
    ['numbers that are functions', { ...front, limit: () => 3 }, {}],
    ['a skip of its own', { ...front, limit: 3, skip: () => false }, {}],
    ['a skip of the module', { ...front, limit: 3 }, { skip: () => false }],
  ])(
    'cost no more lookups than the address may have (SEC-21): %s',
    async (_what, tier, options) => {
      const lookups: (() => void)[] = [];
      const verify = () => new Promise<null>((resolve) => lookups.push(() => resolve(null)));
      const { ask } = await start({
        controllers: [Target],
        rateLimit: {
          resolverTimeoutMs: 60_000,
          identity: { apiKey: { verify } },
          tiers: [tier, { name: 'plan', policy: 'fixed-window:100/1h' }],
          // The module's skip is asked in the guard phase too, and has to know the client there.
          ...options,
        },
      });

      const guesses = Array.from({ length: 50 }, (_, n) =>
        ask('/', { headers: { 'x-api-key': `guess-${n}` } }),
      );
      const refused = await firstToEnd(guesses, 47);
      const asked = lookups.length;
      for (const answer of lookups) answer();
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);

      expect([...new Set(refused.map(({ status }) => status))]).toEqual([429]);
      expect(asked).toBe(3);
      expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    },
  );

  it('charge the address nothing when another tier refuses them (SEC-55)', async () => {
    const { ask, app } = await start({
      controllers: [Target],
      rateLimit: {
        identity: { apiKey: { verify: async () => null } },
        tiers: [
          { ...front, phase: 'guard', limit: 10 },
          { name: 'plan', policy: 'fixed-window:2/1h' },
        ],
        headers: ['draft-8'],
      },
    });
    const told: unknown[] = [];
    for (let n = 0; n < 4; n++) {
      const { status, headers } = await ask('/', { headers: { 'x-api-key': `guess-${n}` } });
      told.push([status, /"front";r=(\d+)/.exec(String(headers['ratelimit']))![1]]);
    }

    expect(told).toEqual([
      [200, '9'],
      [200, '8'],
      [429, '8'],
      [429, '8'],
    ]);
    const address = { kind: 'ip', id: '127.0.0.1' } as const;
    expect(await app.get(LimiterService).peek('front', address)).toMatchObject({ remaining: 8 });
  });
});

/** The first `count` to be answered; the others still wait. */
function firstToEnd<T>(all: readonly Promise<T>[], count: number): Promise<readonly T[]> {
  const ended: T[] = [];
  return new Promise((resolve, reject) => {
    for (const one of all) {
      one.then((answer) => {
        if (ended.push(answer) === count) resolve([...ended]);
      }, reject);
    }
  });
}
