import { Controller, Get } from '@nestjs/common';
import { RateLimitEvents, type RateLimitEventMap } from '../src/index.js';
import { RateLimitLog } from '../src/rate-limit.log.js';
import { RateLimitSettings } from '../src/rate-limit.settings.js';
import { eventually } from './support/eventually.js';
import { platforms } from './support/platforms.js';
import { RedisServer } from './support/redis-server.js';

@Controller()
class Search {
  @Get('find') find() {
    return 'found';
  }
}

const KEY = 'sk_live_0123456789';
const identity = {
  apiKey: { verify: (key: string) => (key === KEY ? { id: 'acme-gmbh' } : null) },
  secret: '0123456789abcdef',
};

describe('RateLimitEvents', () => {
  const made = (): RateLimitEvents =>
    new RateLimitEvents(new RateLimitLog(new RateLimitSettings({})));

  it('keeps to once and off', () => {
    const events = made();
    const heard: string[] = [];
    const listener = (): void => void heard.push('off');
    events.once('handed-back', (keys) => heard.push(`once ${keys}`));
    events.on('handed-back', listener);
    events.off('handed-back', listener);

    events.tell('handed-back', 3);
    events.tell('handed-back', 4);

    expect(heard).toEqual(['once 3']);
  });

  it('lets a listener leave while the others are told', () => {
    const events = made();
    const heard: string[] = [];
    const second = (): void => void heard.push('second');
    events.on('handed-back', () => {
      heard.push('first');
      events.off('handed-back', second);
    });
    events.on('handed-back', second);

    events.tell('handed-back', 1);
    events.tell('handed-back', 1);

    expect(heard).toEqual(['first', 'second', 'first']);
  });
});

describe.each(platforms)('events of an app on $name', ({ start }) => {
  const tiers = [
    { name: 'front', by: 'ip', phase: 'edge', policy: 'fixed-window:9/1h', cost: 2 },
    { name: 'plan', policy: 'fixed-window:1/1h' },
    { name: 'trial', policy: 'fixed-window:1/1h', mode: 'shadow' },
  ] as const;

  it('tell each tier of each request, and nothing of who asked (SEC-57)', async () => {
    const { app, ask } = await start({
      rateLimit: { identity, tiers: [...tiers] },
      controllers: [Search],
    });
    const heard: RateLimitEventMap['decided'][0][] = [];
    app.get(RateLimitEvents).on('decided', (event) => heard.push(event));

    const headers = { 'x-api-key': KEY };
    for (let n = 0; n < 2; n++) await ask('/find', { headers, from: '127.0.0.3' });

    expect(
      heard.map(({ tier, isShadow, cost, decision: { allowed, source } }) => [
        ...[tier, isShadow, cost],
        ...[allowed, source],
      ]),
    ).toEqual([
      ['front', false, 2, true, 'memory'],
      ['plan', false, 1, true, 'memory'],
      ['trial', true, 1, true, 'memory'],
      ['front', false, 2, true, 'memory'],
      ['plan', false, 1, false, 'memory'],
      ['trial', true, 1, false, 'memory'],
    ]);
    expect(JSON.stringify(heard)).not.toMatch(/sk_live|acme|127\.0|rl\{/);
  });

  it('are not even made where nobody listens', async () => {
    const { app, ask } = await start({ rateLimit: { tiers: [...tiers] }, controllers: [Search] });
    const events = app.get(RateLimitEvents);
    const emit = jest.spyOn(events, 'emit');

    await ask('/find');

    expect(emit).not.toHaveBeenCalled();
    expect(events.eventNames()).toEqual([]);
  });

  const troubles: [what: string, listener: () => unknown, said: string][] = [
    [
      'throws',
      () => {
        throw new Error('a\nline');
      },
      'a\\u{a}line',
    ],
    ['rejects', () => Promise.reject(new Error('later')), 'later'],
    [
      'throws what is no string',
      () => {
        throw Object.create(null);
      },
      'object',
    ],
  ];

  it.each(troubles)(
    'harm no request and no other listener when one %s',
    async (_what, listener, said) => {
      const { app, ask, clock, log } = await start({
        rateLimit: { tiers: [{ name: 'plan', policy: 'fixed-window:100/1h' }] },
        controllers: [Search],
      });
      const events = app.get(RateLimitEvents);
      let heard = 0;
      events.on('decided', listener);
      events.on('decided', () => heard++);

      const statuses = [];
      for (let n = 0; n < 20; n++) statuses.push((await ask('/find')).status);
      clock.advance(60_000);
      await ask('/find');

      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(heard).toBe(21);
      const line = { level: 'error', text: `a listener of 'decided' threw: ${said}` };
      expect(log).toEqual([line, line]);
    },
  );

  it('tell when the store goes and comes, and how many keys were handed back', async () => {
    const server = await RedisServer.start();
    try {
      const { app, ask } = await start({
        rateLimit: {
          identity,
          redis: server.url,
          tiers: [{ name: 'plan', by: 'ip', policy: 'fixed-window:1000/1h' }],
        },
        controllers: [Search],
      });
      const heard: unknown[] = [];
      const events = app.get(RateLimitEvents);
      events.on('store', ({ state, reason }, previous) =>
        heard.push([previous.state, state, reason?.kind]),
      );
      events.on('handed-back', (keys) => heard.push(keys));
      await ask('/find');

      await server.kill();
      for (let n = 0; n < 10; n++) {
        await ask('/find', { from: '127.0.0.2' });
        await ask('/find', { from: '127.0.0.3' });
      }
      await server.restart();
      await eventually('all is handed back', async () => {
        await ask('/find');
        return heard.length >= 3;
      });

      expect(heard).toEqual([
        ['up', 'down', 'not-sent'],
        ['down', 'up', undefined],
        // 127.0.0.1 too where it asked while the breaker was still open.
        expect.any(Number),
      ]);
      expect([2, 3]).toContain(heard[2]);
    } finally {
      await server.stop();
    }
  });
});
