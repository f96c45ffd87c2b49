import { Controller, Get, Logger } from '@nestjs/common';
import { RateLimitEvents } from '../src/rate-limit.events.js';
import { RateLimitLog } from '../src/rate-limit.log.js';
import { RateLimitSettings } from '../src/rate-limit.settings.js';
import { StoreWatch } from '../src/store-watch.js';
import type { StoreStatus } from '../src/stores/availability/store-health.js';
import type { StoreErrorKind } from '../src/stores/redis/store-error.js';
import { ManualClock } from '../src/testing/manual-clock.js';
import { eventually } from './support/eventually.js';
import { platforms, type LogLine } from './support/platforms.js';
import { RedisServer } from './support/redis-server.js';

const MINUTE_MS = 60_000;

// Only what the summary is timed by; the time that passes is that of the tests.
beforeEach(() => {
  const timers = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'nextTick'];
  const others = ['queueMicrotask', 'Date', 'hrtime', 'performance', 'requestIdleCallback'];
  jest.useFakeTimers({ doNotFake: [...timers, ...others] as never });
});

afterEach(() => {
  jest.useRealTimers();
});

interface Watched {
  readonly watch: StoreWatch;
  readonly lines: LogLine[];
  readonly told: [state: string, previous: string][];
  readonly fail: (kind?: StoreErrorKind, message?: string) => void;
  readonly nextMinute: () => string[];
}

function watched(): Watched {
  const lines: LogLine[] = [];
  const to = (level: string) => (text: unknown) => void lines.push({ level, text: String(text) });
  Logger.overrideLogger({ log: to('log'), warn: to('warn'), error: to('error') });
  const log = new RateLimitLog(new RateLimitSettings({ clock: new ManualClock() }));
  const events = new RateLimitEvents(log);
  const told: [string, string][] = [];
  events.on('store', (status, previous) => told.push([status.state, previous.state]));
  const watch = new StoreWatch(events, log);
  return {
    watch,
    lines,
    told,
    fail: (kind = 'not-sent', message = 'connect ECONNREFUSED') =>
      watch.health.failed(kind, message),
    nextMinute() {
      const before = lines.length;
      jest.advanceTimersByTime(MINUTE_MS);
      return lines.slice(before).map(({ text }) => text);
    },
  };
}

const withoutTimes = (text: string): string => text.replace(/\d+ (ms|s)\b/g, 'n $1');

describe('the watch over a store', () => {
  it('tells each change once, at error level', () => {
    const { watch, lines, told, fail } = watched();
    const { health } = watch;
    health.gateMade();
    health.gateMade();

    fail();
    for (let n = 0; n < 10; n++) fail('unavailable', 'LOADING Redis is loading');
    health.gateOpened();
    health.gateOpened();
    for (let n = 0; n < 10; n++) fail();
    // No news while it is away, however new.
    fail('misconfigured', 'NOAUTH Authentication required.');
    health.gateClosed();
    health.gateClosed();

    expect(lines.map(({ level }) => level)).toEqual(Array.from({ length: 6 }, () => 'error'));
    expect(lines.map(({ text }) => withoutTimes(text))).toEqual([
      'the store failed, onStoreFailure holds: connect ECONNREFUSED (not-sent)',
      'the store failed, onStoreFailure holds: LOADING Redis is loading (unavailable)',
      'parts of the store are away, onStoreFailure holds: LOADING Redis is loading (unavailable)',
      'the store is away, onStoreFailure holds: LOADING Redis is loading (unavailable)',
      'parts of the store are back after n ms, for others onStoreFailure holds: NOAUTH Authentication required. (misconfigured)',
      'the store is back after n ms',
    ]);
    expect(told).toEqual([
      ['degraded', 'up'],
      ['down', 'degraded'],
      ['degraded', 'down'],
      ['up', 'degraded'],
    ]);
  });

  it('tells that a part was found of which nothing bad is known', () => {
    const { watch, told } = watched();
    watch.health.gateMade();
    watch.health.gateOpened();

    watch.health.gateMade();

    expect(told).toEqual([
      ['down', 'up'],
      ['degraded', 'down'],
    ]);
  });

  it('sums up once a minute while it is not up', () => {
    const { watch, fail, nextMinute } = watched();
    const { health } = watch;
    health.gateMade();

    const quiet = nextMinute();
    fail();
    health.gateOpened();
    for (let n = 0; n < 700; n++) health.decidedBy('local');
    const first = nextMinute();
    for (let n = 0; n < 30; n++) health.decidedBy('closed');
    fail('unavailable', 'LOADING');
    const second = nextMinute();
    const third = nextMinute();
    health.gateClosed();
    const last = nextMinute();

    expect(quiet).toEqual([]);
    expect([first, second, third].flat().map(withoutTimes)).toEqual([
      'the store is down for n s: 700 charges failed over in the last minute ' +
        '(since start: 700 local, 0 open, 0 closed): connect ECONNREFUSED (not-sent)',
      'the store is down for n s: 30 charges failed over in the last minute ' +
        '(since start: 700 local, 0 open, 30 closed): LOADING (unavailable)',
      'the store is down for n s: 0 charges failed over in the last minute ' +
        '(since start: 700 local, 0 open, 30 closed): LOADING (unavailable)',
    ]);
    expect(last).toEqual([]);
  });

  it('sums up what fails now and then, with the reason', () => {
    const { watch, fail, nextMinute } = watched();
    watch.health.gateMade();

    fail('ambiguous', 'the store did not answer within 100 ms');
    watch.health.decidedBy('open');

    expect(nextMinute()).toEqual([
      'the store fails now and then: 1 charges failed over in the last minute ' +
        '(since start: 0 local, 1 open, 0 closed): the store did not answer within 100 ms (ambiguous)',
    ]);
    expect(nextMinute()).toEqual([]);
  });

  it('tells six changes a minute of a store that comes and goes, and sums up the rest (RED-42)', () => {
    const { watch, lines, told, fail, nextMinute } = watched();
    const { health } = watch;
    health.gateMade();
    const flap = (times: number): void => {
      for (let n = 0; n < times; n++) {
        fail();
        health.gateOpened();
        health.gateClosed();
      }
    };

    flap(40);
    const changes = lines.filter(({ text }) => /is (away|back)/.test(text));
    const summary = nextMinute();
    flap(1);
    const after = lines.slice(-2).map(({ text }) => withoutTimes(text));

    expect(changes).toHaveLength(6);
    expect(changes.at(-1)!.text).toMatch(
      /ms; it comes and goes: the next summary tells how often$/,
    );
    expect(told).toHaveLength(82);
    expect(summary).toEqual([
      expect.stringMatching(/^the store fails now and then: 80 changes, 0 charges failed over/),
    ]);
    expect(after).toEqual([
      'the store is away, onStoreFailure holds: connect ECONNREFUSED (not-sent)',
      'the store is back after n ms',
    ]);
  });

  it.each<[kind: StoreErrorKind, level: string]>([
    ['not-sent', 'error'],
    ['misconfigured', 'error'],
    ['bug', 'error'],
    // One key's, not the store's.
    ['poisoned-key', 'warn'],
  ])('says once a minute that calls fail: %s at level %s', (kind, level) => {
    const { lines, fail } = watched();

    fail(kind, 'one\nline');
    fail(kind, 'another');

    expect(lines).toEqual([
      { level, text: `the store failed, onStoreFailure holds: one\\u{a}line (${kind})` },
    ]);
  });

  it('asks the store once for all who want to know, and takes no failure amiss', async () => {
    const { watch } = watched();
    let asked = 0;
    watch.watch({
      kind: 'redis',
      owed: () => 3,
      probe: () => {
        asked++;
        return Promise.reject(new Error('away'));
      },
    });

    await Promise.all([watch.probe(), watch.probe(), watch.probe()]);
    await watch.probe();

    expect(asked).toBe(2);
    expect(watch.status).toMatchObject({ store: 'redis', owed: 3, state: 'up' });
  });

  it('stops with the app', () => {
    const { watch, nextMinute } = watched();
    watch.health.gateMade();
    watch.health.gateOpened();

    watch.onApplicationShutdown();

    expect(nextMinute()).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

@Controller()
class Search {
  @Get('find') find() {}
}

describe.each(platforms)('an outage on $name', ({ start }) => {
  it('is three lines for a thousand requests, one a minute, and one for its end', async () => {
    const server = await RedisServer.start();
    try {
      const { app, ask, log } = await start({
        rateLimit: { redis: server.url, tiers: [{ name: 'plan', policy: 'fixed-window:9000/1h' }] },
        controllers: [Search],
      });
      const told: StoreStatus[] = [];
      app.get(RateLimitEvents).on('store', (status) => told.push(status));
      const errors = (): string[] =>
        log.filter(({ level }) => level === 'error').map(({ text }) => text);
      await ask('/find');

      await server.kill();
      const answers = [];
      for (let n = 0; n < 20; n++) {
        answers.push(...(await Promise.all(Array.from({ length: 50 }, () => ask('/find')))));
      }
      const during = errors();
      jest.advanceTimersByTime(3 * MINUTE_MS);
      const summed = errors().slice(during.length);
      await server.restart();
      await eventually('Redis counts again', async () => {
        await ask('/find');
        return told.length === 2;
      });

      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(during.length).toBeLessThanOrEqual(3);
      expect(during.filter((text) => text.startsWith('the store is away'))).toHaveLength(1);
      expect(summed).toHaveLength(3);
      expect(summed[0]).toMatch(/^the store is down for \d+ s: (9\d\d|1000) charges failed over/);
      expect(errors().slice(during.length + 3)).toEqual([
        expect.stringMatching(/^the store is back after \d+ ms$/),
      ]);
      expect(told.map(({ state }) => state)).toEqual(['down', 'up']);
    } finally {
      await server.stop();
    }
  });
});
