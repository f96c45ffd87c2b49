import { Controller, Get, Next, UseGuards } from '@nestjs/common';
import { RateLimit, RateLimitGuard, SkipRateLimit } from '../../src/index.js';
import { platforms } from '../support/platforms.js';

type NextFunction = () => void;

/** Only Express hands a request on from a handler to the next one that its path matches. */
const [express] = platforms.filter(({ name }) => name === 'express');

@Controller('items')
class Wide {
  @Get(':id') @RateLimit({ name: 'wide', policy: 'fixed-window:5/1m' }) find(
    @Next() next: NextFunction,
  ): void {
    next();
  }
}

@Controller('items')
class Dear {
  @Get('dear') @RateLimit({ name: 'dear', policy: 'fixed-window:2/1m' }) find(): string {
    return 'dear';
  }
  @Get('free') @SkipRateLimit() free(): string {
    return 'free';
  }
  @Get('guarded') @UseGuards(RateLimitGuard) guarded(): string {
    return 'guarded';
  }
}

describe('a request that a handler hands on to another, on express', () => {
  const start = (limit = 100) =>
    express!.start({
      rateLimit: { tiers: [{ name: 'root', policy: `fixed-window:${limit}/1m` }] },
      controllers: [Wide, Dear],
    });

  // The other's own limit has not counted it, though the root's has.
  it('is counted by the limit of the other too', async () => {
    const { ask, admitted } = await start();
    const first = await ask('/items/dear');
    const second = await admitted('/items/dear', 1);
    const third = await ask('/items/dear');

    expect([first.text, second, third.status]).toEqual(['dear', 1, 429]);
    expect(third.body).toMatchObject({ 'violated-policies': ['dear'] });
    // The first counted all three.
    expect(await admitted('/items/free', 10)).toBe(2);
  });

  it('is counted once by the tiers of the root', async () => {
    const { admitted } = await start(3);

    expect(await admitted('/items/free', 10)).toBe(3);
  });

  it('is counted by the first as well, whatever the other skips', async () => {
    const { admitted } = await start();

    expect(await admitted('/items/free', 10)).toBe(5);
  });

  it('is counted once where the other names the guard again', async () => {
    const { ask, admitted } = await start(4);
    const { headers } = await ask('/items/guarded');

    expect(headers['x-ratelimit-remaining']).toBe('3');
    expect(await admitted('/items/guarded', 10)).toBe(3);
  });

  it('tells the tightest of all that counted it', async () => {
    const { ask } = await start();

    expect((await ask('/items/dear')).headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
    });
  });
});
