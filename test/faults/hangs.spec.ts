import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Decision } from '../../src/index.js';
import { withDeadline } from '../../src/deadline.js';
import type { NamedPolicy } from '../../src/service-charges.js';
import { connect, untilReady } from '../../src/stores/redis/connect.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/fault-proxy.js';
import { Instance } from '../support/instance.js';
import type { RedisServer } from '../support/redis-server.js';
import { scriptsRun } from './counted.js';
import { settledHeap } from './heap.js';
import { Stops } from './stops.js';

const TIMEOUT_MS = 100;
const TURN_MS = 400;
/** Failures in a row that open the breaker. */
const THRESHOLD = 5;
/** Scripts under way, and those that were waiting for one of them. */
const CONCURRENCY = 4;
const PLENTY: NamedPolicy = { name: 'plenty', policy: 'sliding-window-counter:1000000/1d' };
const OPEN: NamedPolicy = { ...PLENTY, name: 'open', onStoreFailure: 'open' };

const stops = new Stops();
let server: RedisServer;
let admin: Redis;

beforeEach(async () => {
  server = await stops.server();
  admin = new Redis(server.url);
  stops.add(() => admin.disconnect());
});

async function instance(redis: unknown = server.url): Promise<Instance> {
  const started = await Instance.start(redis, { timeoutMs: TIMEOUT_MS, deniedCache: false });
  stops.add(() => started.close());
  await started.until('up', OPEN, 'warm');
  await eventually('Redis has decided', async () => {
    return (await started.consume(OPEN, 'warm', 0)).source === 'redis';
  });
  return started;
}

async function proxied(): Promise<[Instance, FaultProxy]> {
  const proxy = await stops.proxy(server);
  return [await instance(proxy.url), proxy];
}

interface Load {
  readonly decisions: Decision[];
  readonly worstMs: () => number;
  readonly stop: () => Promise<void>;
}

/** Callers that ask again as soon as they are answered. */
function load(on: Instance, policy: NamedPolicy, callers: number, pauseMs = 1): Load {
  const decisions: Decision[] = [];
  let worstMs = 0;
  const state = { isOver: false };
  const call = async (): Promise<void> => {
    while (!state.isOver) {
      const askedAt = performance.now();
      decisions.push(await on.consume(policy, 'key'));
      worstMs = Math.max(worstMs, performance.now() - askedAt);
      await sleep(pauseMs);
    }
  };
  const calls = Promise.all(Array.from({ length: callers }, call));
  return {
    decisions,
    worstMs: () => worstMs,
    stop: async () => {
      state.isOver = true;
      await withDeadline(calls, 1_000, 'a call');
    },
  };
}

/** Units that Redis has charged for the key. */
async function charged(on: Instance, policy: NamedPolicy): Promise<number> {
  const { remaining, source } = await on.consume(policy, 'key', 0);
  expect(source).toBe('redis');
  return 1_000_000 - remaining;
}

const bySource = (decisions: readonly Decision[], source: string): number =>
  decisions.filter((decision) => decision.source === source).length;

describe('a hung Redis', () => {
  it('is asked no more than the breaker takes to open, and then once an interval; what comes late charges nothing (RED-03, RED-04)', async () => {
    const one = await instance();
    await one.consume(OPEN, 'key', 0);
    const before = await scriptsRun(admin);

    server.pause();
    const { decisions, worstMs, stop } = load(one, OPEN, 50);
    await sleep(3_000);
    await stop();
    const probes = Math.ceil(Math.log2(3_000 / 250));
    server.resume();
    await one.until('up', OPEN, 'other');

    const sent = (await scriptsRun(admin)) - before;
    expect(worstMs()).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(bySource(decisions, 'open')).toBe(decisions.length);
    expect(decisions.length).toBeGreaterThan(1_000);
    // The last ones are those that found it well again.
    expect(sent).toBeLessThanOrEqual(THRESHOLD + CONCURRENCY + probes + 2);
    // Ghosts.
    expect(await charged(one, OPEN)).toBe(0);
  });

  it('is found well again by one call of each process at a time (RED-41)', async () => {
    const four = await Promise.all(Array.from({ length: 4 }, () => watched()));
    const loads = four.map(({ one }) => load(one, OPEN, 20));
    server.pause();
    await eventually('all are away', async () =>
      four.every(({ one }) => one.status.state === 'down'),
    );
    await sleep(1_200);
    server.resume();
    await eventually('all are back', async () =>
      four.every(({ one }) => one.status.state === 'up'),
    );
    await sleep(300);
    for (const { stop } of loads) await stop();

    for (const { one, sentWhileDown } of four) {
      // One that found it well again, and those before it, each at least half an open time later.
      expect(sentWhileDown.length).toBeGreaterThan(1);
      for (const [index, atMs] of sentWhileDown.entries()) {
        expect(atMs - (sentWhileDown[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(249);
      }
      expect(one.states).toEqual(['down', 'up']);
    }
    expect(Math.max(...loads.map(({ worstMs }) => worstMs()))).toBeLessThan(TIMEOUT_MS + TURN_MS);
  });
});

/** An instance on a client of the test's, and when it sent a script although Redis was away. */
async function watched(): Promise<{ one: Instance; sentWhileDown: number[] }> {
  const client = await connect(server.url, 'redis', TIMEOUT_MS);
  client.on('error', () => undefined);
  stops.add(() => client.disconnect());
  await untilReady(client, 2_000);
  const runner = scriptRunnerFor(client, 'redis');
  const sentWhileDown: number[] = [];
  const state: { one?: Instance } = {};
  state.one = await instance({
    run: (...script: Parameters<ScriptRunner['run']>) => {
      if (state.one?.status.state === 'down') sentWhileDown.push(performance.now());
      return runner.run(...script);
    },
  });
  return { one: state.one, sentWhileDown };
}

describe('a Redis that comes and goes', () => {
  it('changes the state now and then, not with every turn of it (RED-42)', async () => {
    const [one, proxy] = await proxied();
    const { decisions, worstMs, stop } = load(one, OPEN, 10);

    for (let turn = 0; turn < 12; turn++) {
      await sleep(200);
      if (turn % 2 === 0) {
        await proxy.refuse();
        proxy.reset();
      } else await proxy.accept();
    }
    await stop();

    // Away at most after 0, 0.25, 0.75 and 1.75 s, and back in between.
    expect(one.states.length).toBeGreaterThan(0);
    expect(one.states.length).toBeLessThanOrEqual(8);
    expect(worstMs()).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  });
});

describe('a slow link', () => {
  it('of about the deadline does not flap (RED-05)', async () => {
    const [one, proxy] = await proxied();
    // There and back: 90 to 110 ms.
    proxy.fault = { kind: 'slow', ms: 45, jitterMs: 10 };

    const { worstMs, stop } = load(one, OPEN, 10);
    await sleep(4_000);
    await stop();

    expect(one.states.length).toBeLessThanOrEqual(10);
    expect(worstMs()).toBeLessThan(TIMEOUT_MS + TURN_MS);
  });

  it.each([5, 20])('well within the deadline is only slow: %i ms each way (RED-05)', async (ms) => {
    const [one, proxy] = await proxied();
    proxy.fault = { kind: 'slow', ms };

    const { decisions, stop } = load(one, OPEN, 10);
    await sleep(500);
    await stop();

    expect(bySource(decisions, 'redis')).toBe(decisions.length);
  });

  it('that delays a few chunks costs what is behind them, and no more (RED-06)', async () => {
    const [one, proxy] = await proxied();
    proxy.fault = { kind: 'slow', ms: 500, share: 0.01 };

    const { decisions, worstMs, stop } = load(one, OPEN, 4, 5);
    await eventually('a chunk was late', async () => bySource(decisions, 'open') > 0);
    await sleep(2_000);
    await stop();

    expect(worstMs()).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(bySource(decisions, 'redis')).toBeGreaterThan(0);
    expect(one.states.length).toBeLessThanOrEqual(6);
    expect(await withDeadline(one.until('up', OPEN, 'other'), 5_000, 'recovery')).toBeUndefined();
  });
});

describe('a Redis that was killed', () => {
  it('leaves no call open and no rejection unhandled (RED-02)', async () => {
    const one = await instance();
    const { decisions, worstMs, stop } = load(one, PLENTY, 100);
    await eventually('there is traffic', async () => decisions.length > 500);

    await server.kill();
    await eventually('it is noticed', async () => one.status.state === 'down');
    await stop();

    expect(worstMs()).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  });

  it('costs no memory, however long it stays away (RED-39)', async () => {
    const one = await instance();
    await server.kill();
    await Promise.all(Array.from({ length: 2_000 }, () => one.consume(PLENTY, 'key')));
    const rounds = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        await Promise.all(Array.from({ length: 100 }, () => one.consume(PLENTY, 'key')));
      }
    };
    await rounds(100);
    const before = settledHeap();

    await rounds(1_000);

    expect(one.status.failedOver.local).toBeGreaterThan(100_000);
    expect(settledHeap() - before).toBeLessThan(2_000_000);
  });
});

describe('the clock of the app', () => {
  it.each([3_600_000, -3_600_000])('set by %i ms changes nothing (RED-35)', async (jumpMs) => {
    const [one, proxy] = await proxied();
    const tight: NamedPolicy = { name: 'tight', policy: 'fixed-window:3/1d' };
    expect(await one.admitted(tight, 'key', 2)).toBe(2);
    const wall = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => wall() + jumpMs);

    expect(await one.admitted(tight, 'key', 2)).toBe(1);
    await proxy.refuse();
    proxy.reset();
    await eventually('it is away', async () => {
      await one.consume(OPEN, 'key');
      return one.status.state === 'down';
    });
    expect(await one.admitted(tight, 'key', 2)).toBe(0);
    await proxy.accept();
    await withDeadline(one.until('up', OPEN, 'key'), 8_000, 'recovery');

    expect(await one.admitted(tight, 'key', 2)).toBe(0);
    jest.restoreAllMocks();
  });
});
