import { Controller, Get } from '@nestjs/common';
import type { RateLimitOptions, TierOptions } from '../../src/index.js';
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
    ['numbers that are functions', { ...front, limit: () => 3 }, {}],
    ['a skip of its own', { ...front, limit: 3, skip: () => false }, {}],
    ['a skip of the module', { ...front, limit: 3 }, { skip: () => false }],
  ])('cost no more lookups than the edge admits (SEC-21): %s', async (_what, tier, options) => {
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
