import { Controller, Get, Post } from '@nestjs/common';
import { SkipRateLimit } from '../src/index.js';
import { RateLimitEvents, type TierDecided } from '../src/rate-limit.events.js';
import { MemoryStore } from '../src/stores/memory/memory.store.js';
import { RateLimitStore, type Decision, type Operation } from '../src/stores/rate-limit.store.js';
import type { TierOptions } from '../src/tiers/tier-options.js';
import { platforms } from './support/platforms.js';

@Controller()
class Things {
  @Get('thing') thing(): string {
    return 'thing';
  }
  @Get('free') @SkipRateLimit() free(): string {
    return 'free';
  }
  @Post('thing') make(): string {
    return 'made';
  }
}

/** Tells what reached it: each operation's verb and the policies of its charges. */
class Told extends RateLimitStore {
  readonly asked: string[] = [];
  isAway = false;
  private readonly memory = new MemoryStore();

  override decide(operation: Operation): Promise<readonly Decision[]> {
    const { verb, charges } = operation;
    this.asked.push(`${verb} ${charges.map(({ policy }) => policy.name).join('+')}`);
    return this.isAway ? Promise.reject(new Error('away')) : this.memory.decide(operation);
  }
}

const ofAddress: TierOptions = { name: 'address', by: 'ip', policy: 'fixed-window:2/1h' };
const ofClient: TierOptions = { name: 'client', policy: 'fixed-window:100/1h' };
const KEY = { headers: { 'x-api-key': 'sk-alice' } };

describe.each(platforms)('a request with a key that is not verified yet, on $name', (platform) => {
  async function start(
    tiers: TierOptions[],
    onStoreFailure: 'local' | 'open' | 'closed' = 'local',
  ) {
    const store = new Told();
    const verify = jest.fn((key: string) =>
      Promise.resolve(key === 'sk-alice' ? { id: 'a' } : null),
    );
    const running = await platform.start({
      rateLimit: { store, tiers, onStoreFailure, identity: { apiKey: { verify } } },
      controllers: [Things],
    });
    const decided: TierDecided[] = [];
    running.app.get(RateLimitEvents).on('decided', (event) => decided.push(event));
    return { ...running, store, verify, decided };
  }

  it('is charged to its address first, and then to who it is', async () => {
    const { ask, store, decided, log } = await start([ofAddress, ofClient]);
    const { status, headers } = await ask('/thing', KEY);

    expect([status, headers['x-ratelimit-remaining']]).toEqual([200, '1']);
    expect(store.asked).toEqual(['consume address', 'consume client']);
    expect(decided.map(({ tier, decision }) => [tier, decision.remaining])).toEqual([
      ['address', 1],
      ['client', 99],
    ]);
    expect(log.filter(({ text }) => text.includes('refused'))).toEqual([]);
  });

  it('is refused by its address before anybody is asked whose the key is', async () => {
    const { ask, admitted, store, decided, verify, log } = await start([ofAddress, ofClient]);
    // Without a key, nobody is asked anyway.
    expect(await admitted('/thing', 2)).toBe(2);
    store.asked.length = 0;
    decided.length = 0;

    const { status, headers } = await ask('/thing', KEY);

    expect([status, headers['x-ratelimit-remaining']]).toEqual([429, '0']);
    expect(store.asked).toEqual(['consume address']);
    expect(verify).not.toHaveBeenCalled();
    expect(decided.map(({ tier }) => tier)).toEqual(['address']);
    expect(log.filter(({ text }) => text.includes('refused'))).toHaveLength(1);
  });

  it.each<[what: string, tiers: TierOptions[], asked: string[]]>([
    ['no tier counts addresses', [ofClient], ['consume client']],
    [
      'a tier of addresses asks the app, which may want the client',
      [{ ...ofAddress, cost: () => 1 }, ofClient],
      ['consume address+client'],
    ],
    [
      'it is the edge that counts addresses, before',
      [{ ...ofAddress, phase: 'edge' }, ofClient],
      ['consume address', 'consume client'],
    ],
  ])('is decided at once where %s', async (_what, tiers, asked) => {
    const { ask, store } = await start(tiers);

    expect((await ask('/thing', KEY)).status).toBe(200);
    expect(store.asked).toEqual(asked);
  });

  it('is refused by nothing but an enforced tier', async () => {
    const { admitted, store } = await start([{ ...ofAddress, mode: 'shadow' }, ofClient]);

    expect(await admitted('/thing', 4, KEY)).toBe(4);
    expect(store.asked).toEqual([
      ...['consume address', 'consume client'],
      // What verify has answered is known now.
      ...Array<string>(3).fill('consume address+client'),
    ]);
  });

  it('is looked at in no tier that it skips', async () => {
    const { ask, store, verify } = await start([ofAddress, ofClient]);

    expect((await ask('/free', KEY)).status).toBe(200);
    expect(store.asked).toEqual([]);
    expect(verify).not.toHaveBeenCalled();
  });

  it.each<['local' | 'open' | 'closed', status: number, verified: number]>([
    ['local', 200, 1],
    ['open', 200, 1],
    // It would be turned away anyway.
    ['closed', 503, 0],
  ])('is treated by the failure policy when the store is away: %s', async (policy, ...is) => {
    const { ask, store, verify } = await start([ofAddress, ofClient], policy);
    store.isAway = true;
    const { status } = await ask('/thing', KEY);

    expect([status, verify.mock.calls.length]).toEqual(is);
  });
});
