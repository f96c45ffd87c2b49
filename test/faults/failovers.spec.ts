import dns from 'node:dns';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { NamedPolicy } from '../../src/service-charges.js';
import { DECIDE_SCRIPT } from '../../src/stores/redis/script.generated.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { hashSlot } from '../support/hash-slot.js';
import { Instance } from '../support/instance.js';
import { platforms } from '../support/platforms.js';
import {
  promote,
  startCluster,
  startReplica,
  startSentinel,
  RedisServer,
  type RedisCluster,
} from '../support/redis-server.js';
import { Fleet, TIMEOUT_MS, TURN_MS } from './fleet.js';
import { record } from './measurements.js';
import { Stops } from './stops.js';

const LIMIT = 100;
const PLAN: NamedPolicy = { name: 'plan', policy: `token-bucket:${LIMIT}/1d` };

const stops = new Stops();

afterEach(() => jest.restoreAllMocks());

function clientOf({ url }: { readonly url: string }): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  stops.add(() => client.disconnect());
  return client;
}

async function instance(redis: unknown): Promise<Instance> {
  const one = await Instance.start(redis, { timeoutMs: TIMEOUT_MS, deniedCache: false });
  stops.add(() => one.close());
  await eventually('Redis decides', async () => {
    return (await one.consume(PLAN, 'warm', 0)).source === 'redis';
  });
  return one;
}

describe('a replica that becomes the master', () => {
  it('may not know of the last admissions, and admits no more than those again (RED-12, RED-13)', async () => {
    const master = await stops.server();
    const link = await stops.proxy(master);
    const replica = await startReplica(link as unknown as RedisServer);
    stops.add(() => replica.stop());
    const proxy = await stops.proxy(master);
    const copy = clientOf(replica);
    const one = await instance(proxy.url);

    let admitted = await one.admitted(PLAN, 'key', 50);
    const key = one.redisKey(PLAN, 'key');
    const before = await clientOf(master).getBuffer(key);
    await eventually('the replica knows of them', async () =>
      (await copy.getBuffer(key))!.equals(before!),
    );
    link.fault = { kind: 'blackhole' };
    const unreplicated = await one.admitted(PLAN, 'key', 30);
    admitted += unreplicated;
    await master.kill();
    await one.until('down', PLAN, 'other');
    await promote(replica);
    expect(await copy.script('EXISTS', DECIDE_SCRIPT.sha)).toEqual([0]);
    proxy.target = replica;
    await one.until('up', PLAN, 'other');
    admitted += await one.admitted(PLAN, 'key', LIMIT);

    record({
      fault: 'a replica promoted that had not heard of 30 admissions',
      ids: ['RED-12', 'RED-13'],
      admitted,
      limit: LIMIT,
      bound: 2 * LIMIT + unreplicated,
    });
    expect(unreplicated).toBe(30);
    expect(admitted).toBe(LIMIT + unreplicated);
    expect(Object.keys(one.status.failures)).not.toContain('bug');
  });

  it('is found where its name leads now (RED-32)', async () => {
    const first = await stops.server();
    const { port } = first;
    let address = '127.0.0.1';
    jest
      .spyOn(dns, 'lookup')
      .mockImplementation(((
        _host: string,
        { all }: dns.LookupOptions,
        done: (error: null, found: unknown, family?: number) => void,
      ) =>
        setImmediate(() =>
          all === true ? done(null, [{ address, family: 4 }]) : done(null, address, 4),
        )) as never);
    const one = await instance(`redis://redis.test:${port}`);
    expect(await one.admitted(PLAN, 'key', 10)).toBe(10);

    await first.kill();
    const second = await RedisServer.start({ port, args: ['--bind', '127.0.0.2'] });
    stops.add(() => second.stop());
    address = '127.0.0.2';
    await eventually('the other one decides', async () => {
      return (await one.consume(PLAN, 'key')).source === 'redis';
    });

    const client = clientOf({ url: `redis://127.0.0.2:${port}` });
    expect(await client.exists(one.redisKey(PLAN, 'key'))).toBe(1);
  });

  it('is found through its sentinels (RED-14)', async () => {
    const { name, master, replica, sentinels, stop } = await startSentinel();
    stops.add(stop);
    const source = { sentinels: sentinels.map(({ host, port }) => ({ host, port })), name };
    const fleet = await Fleet.start(platforms.map(() => source));
    const copy = clientOf(replica);

    const measured = await fleet.endure({
      fault: 'a master killed, its replica promoted by Sentinel',
      ids: ['RED-14'],
      kind: 'not-sent',
      strike: () => master.kill(),
      heal: () =>
        eventually('the replica is the master', async () => {
          return (await copy.info('replication')).includes('role:master');
        }),
    });

    record(measured);
    expect(measured.worstMs).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(measured.admitted).toBeLessThanOrEqual(measured.bound);
  });
});

describe('a cluster without replicas', () => {
  let cluster: RedisCluster;
  let proxies: FaultProxy[];

  beforeAll(async () => {
    cluster = await startCluster({ masters: 3 });
    for (const { url } of cluster.masters) {
      const client = new Redis(url);
      await client.config('SET', 'cluster-require-full-coverage', 'no');
      client.disconnect();
    }
    proxies = await Promise.all(cluster.masters.map((node) => FaultProxy.start(node)));
  });

  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await cluster.stop();
  });

  const connect = (): Promise<Instance> =>
    instance({
      cluster: proxies.map(({ host, port }) => ({ host, port })),
      options: {
        natMap: Object.fromEntries(
          proxies.map(({ host, port, target }) => [
            `${target.host}:${target.port}`,
            { host, port },
          ]),
        ),
      },
    });

  /** Names whose keys the master has. */
  const namesAt = (one: Instance, master: number, count: number): string[] => {
    const names = Array.from({ length: 1_000 }, (_, n) => `name ${n}`).filter((name) => {
      const tag = /\{(.*)\}/.exec(one.redisKey(PLAN, name))![1]!;
      return Math.floor((hashSlot(tag) * 3) / 16_384) === master;
    });
    return names.slice(0, count);
  };

  it('charges once what one shard may have charged and another never saw (SEC-55)', async () => {
    const one = await connect();
    const [[unsent], [unanswered]] = [namesAt(one, 0, 1), namesAt(one, 1, 1)] as [
      [string],
      [string],
    ];
    for (const name of [unsent, unanswered]) await one.consume(PLAN, name, 0);
    await proxies[0]!.refuse();
    proxies[0]!.reset();
    await eventually('the first shard is away', async () => {
      await one.consume(PLAN, unsent, 0);
      return one.status.state === 'degraded';
    });

    proxies[1]!.fault = { kind: 'drop-replies' };
    const { allowed, decisions } = await one.consumeAll(PLAN, [unsent, unanswered]);
    proxies[1]!.fault = { kind: 'pass' };
    proxies[1]!.reset();
    await proxies[0]!.accept();
    const isWell = async (): Promise<boolean> => {
      const now = [await one.consume(PLAN, unsent, 0), await one.consume(PLAN, unanswered, 0)];
      return now.every(({ source }) => source === 'redis') && one.owed === 0;
    };
    await eventually('all is well', isWell);
    await sleep(100);

    expect(allowed).toBe(true);
    expect(decisions.map(({ source }) => source)).toEqual(['fallback', 'fallback']);
    expect((await one.consume(PLAN, unanswered, 0)).remaining).toBe(LIMIT - 1);
  });

  it('fails over for the shards of a dead master alone, until it is back (RED-18, RED-19)', async () => {
    const one = await connect();
    const dead = namesAt(one, 2, 4);
    const alive = [...namesAt(one, 0, 4), ...namesAt(one, 1, 4)];
    const sourcesOf = async (names: readonly string[]): Promise<string[]> => {
      const decisions = await Promise.all(names.map((name) => one.consume(PLAN, name)));
      return [...new Set(decisions.map(({ source }) => source))];
    };
    expect(await sourcesOf([...dead, ...alive])).toEqual(['redis']);

    await cluster.masters[2]!.kill();
    let worstMs = 0;
    const struckAt = performance.now();
    await eventually('its shards are away', async () => {
      const askedAt = performance.now();
      const sources = await sourcesOf(dead);
      worstMs = Math.max(worstMs, performance.now() - askedAt);
      expect(await sourcesOf(alive)).toEqual(['redis']);
      return sources.join() === 'fallback' && one.status.state === 'degraded';
    });
    const detectedMs = performance.now() - struckAt;
    for (let n = 0; n < 10; n++) expect(await sourcesOf(alive)).toEqual(['redis']);
    await cluster.masters[2]!.restart();
    const healedAt = performance.now();
    await eventually('its shards are back', async () => {
      return (await sourcesOf(dead)).join() === 'redis';
    });

    record({
      fault: 'one master of a cluster killed, no replica (its shards alone)',
      ids: ['RED-18', 'RED-19'],
      answers: '`fallback`',
      worstMs,
      detectedMs,
      recoveredMs: performance.now() - healedAt,
    });
    expect(worstMs).toBeLessThan(TIMEOUT_MS + TURN_MS);
    expect(one.status.state).toBe('up');
  });
});
