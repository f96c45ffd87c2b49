import { Redis } from 'ioredis';
import type { NamedPolicy } from '../../src/service-charges.js';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/fault-proxy.js';
import { Instance } from '../support/instance.js';
import type { RedisServer } from '../support/redis-server.js';
import { leap } from './leap.js';
import { record } from './measurements.js';
import { Stops } from './stops.js';

const LIMIT = 100;
const PLAN: NamedPolicy = { name: 'plan', policy: `token-bucket:${LIMIT}/1d` };
/** Nothing flows back into it during a test. */
const PLENTY: NamedPolicy = { name: 'plenty', policy: 'sliding-window-counter:1000000/1d' };
/** The longest that a breaker stays open. */
const OPEN_MS = 5_000;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, n) => all + n, 0);

interface Line {
  readonly one: Instance;
  readonly proxy: FaultProxy;
}

const stops = new Stops();

async function lines(server: RedisServer, instances: number): Promise<Line[]> {
  return Promise.all(
    Array.from({ length: instances }, async () => {
      const proxy = await stops.proxy(server);
      const one = await Instance.start(proxy.url, { instances });
      stops.add(() => one.close());
      await eventually('Redis decides', async () => {
        return (await one.consume(PLENTY, 'warm', 0)).source === 'redis';
      });
      return { one, proxy };
    }),
  );
}

async function cut({ one, proxy }: Line): Promise<void> {
  await proxy.refuse();
  proxy.reset();
  await one.until('down', PLENTY, 'other');
}

/** Connected, found well again, and told what it owes, if it has admitted something. */
async function mend({ one, proxy }: Line, owed: number): Promise<void> {
  await proxy.accept();
  const { handedBack } = one;
  await eventually('it is connected', async () => proxy.open > 0);
  await eventually('it is found well again', async () => {
    leap(OPEN_MS);
    await one.consume(PLENTY, 'other', 0);
    return one.status.state === 'up';
  });
  if (owed === 0) return;
  await eventually('what is owed is told', async () => {
    await one.consume(PLENTY, 'other', 0);
    return one.handedBack > handedBack;
  });
}

async function remaining(server: RedisServer): Promise<number> {
  const one = await Instance.start(server.url);
  stops.add(() => one.close());
  return (await one.consume(PLAN, 'key', 0)).remaining;
}

/** `isLossy`: Redis forgets what it has counted. */
const cases: [instances: number, isLossy: boolean, admitted: number][] = [
  // All of it before, here, and nothing after.
  [1, false, 60 + 40],
  // Redis has forgotten 60, and is told of 40.
  [1, true, 60 + 40 + 60],
  // The one that is back first takes the 40 that are left before it is told of the others' shares.
  [4, false, 60 + 3 * 25 + 40],
  [4, true, 60 + 3 * 25 + 100],
];

// RED-44, RED-45, RED-46.
describe('what is admitted over an outage', () => {
  it.each(cases)(
    'by %i instances, Redis forgetful: %s, is %i of a limit of 100',
    async (instances, isLossy, expected) => {
      const share = LIMIT / instances;
      const bound = LIMIT + instances * share + (isLossy ? LIMIT : 0);
      const server = await stops.server();
      const all = await lines(server, instances);

      // The worst of it: one has admitted more than its share, so nobody else knows of it.
      let admitted = await all[0]!.one.admitted(PLAN, 'key', 60);
      await Promise.all(all.map(cut));
      if (isLossy) await server.restart();
      const alone = await Promise.all(all.map(({ one }) => one.admitted(PLAN, 'key', LIMIT)));
      admitted += sum(alone);
      for (const [index, line] of all.entries()) {
        await mend(line, alone[index]!);
        admitted += await line.one.admitted(PLAN, 'key', LIMIT);
      }

      record({
        fault: `the worst order of events, ${instances} ${instances === 1 ? 'process' : 'processes'}${isLossy ? ', data lost' : ''}`,
        ids: isLossy ? ['RED-46'] : ['RED-44', 'RED-45'],
        admitted,
        limit: LIMIT,
        bound,
      });
      expect(admitted).toBe(expected);
      expect(admitted).toBeLessThanOrEqual(bound);
      expect(await remaining(server)).toBe(0);
    },
  );

  it('does not grow with the number of outages (RED-47)', async () => {
    const instances = 2;
    const server = await stops.server();
    const all = await lines(server, instances);
    let admitted = 0;

    for (let outage = 0; outage < 4; outage++) {
      for (const { one } of all) admitted += await one.admitted(PLAN, 'key', 10);
      await Promise.all(all.map(cut));
      const alone = await Promise.all(all.map(({ one }) => one.admitted(PLAN, 'key', LIMIT)));
      admitted += sum(alone);
      await Promise.all(all.map((line, index) => mend(line, alone[index]!)));
    }
    for (const { one } of all) admitted += await one.admitted(PLAN, 'key', 100);

    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(2 * LIMIT);
  });
});

describe('what was admitted while Redis was away', () => {
  // RED-29, RED-45.
  it('is charged once: neither again where it was charged already, nor not at all', async () => {
    const server = await stops.server();
    const admin = new Redis(server.url);
    stops.add(() => admin.disconnect());
    const [line] = (await lines(server, 1)) as [Line];
    const { one, proxy } = line;
    proxy.fault = { kind: 'drop-replies' };

    const calls = async (count: number): Promise<void> => {
      const decisions = Array.from({ length: count }, () => one.consume(PLENTY, 'key'));
      expect((await Promise.all(decisions)).every(({ allowed }) => allowed)).toBe(true);
    };
    // Charged there, but nobody was told; and some that were never sent.
    for (let n = 0; n < 6; n++) await calls(10);
    expect(one.status.state).toBe('down');
    await calls(40);
    expect((await admin.keys('*')).length).toBeGreaterThan(0);
    proxy.fault = { kind: 'pass' };
    proxy.reset();
    await mend(line, 40);

    await eventually('all is charged', async () => {
      const decision = await one.consume(PLENTY, 'key', 0);
      return decision.source === 'redis' && decision.remaining === 1_000_000 - 100;
    });
  });
});
