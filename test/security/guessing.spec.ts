import { Controller, Get } from '@nestjs/common';
import { platforms } from '../support/platforms.js';

@Controller()
class Target {
  @Get() get() {
    return 'got';
  }
}

describe.each(platforms)('API keys guessed at the same time, on $name', ({ start }) => {
  it('cost as many lookups as the edge admits, however many come while one is looked up (SEC-21)', async () => {
    const lookups: (() => void)[] = [];
    const verify = () => new Promise<null>((resolve) => lookups.push(() => resolve(null)));
    const { ask } = await start({
      controllers: [Target],
      rateLimit: {
        resolverTimeoutMs: 60_000,
        identity: { apiKey: { verify } },
        tiers: [
          { name: 'front', by: 'ip', policy: 'fixed-window:3/1h', phase: 'edge' },
          { name: 'plan', policy: 'fixed-window:100/1h' },
        ],
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
