import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { withDeadline } from '../../src/deadline.js';
import { safeDuplicate, unsafeSettingsOf } from '../../src/stores/redis/borrowed-client.js';
import { connect, untilReady, type OwnedClient } from '../../src/stores/redis/connect.js';
import { evictionWarning } from '../../src/stores/redis/eviction-check.js';
import {
  clusterSettings,
  connectionSettings,
  unsafeSettings,
} from '../../src/stores/redis/safe-settings.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { classifyStoreError } from '../../src/stores/redis/store-error.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';
import {
  RedisServer,
  promote,
  startCluster,
  startReplica,
  startSentinel,
} from '../support/redis-server.js';
import { startTls } from '../support/tls-front.js';

const TIMEOUT_MS = 100;
const INCR = "return redis.call('INCR', KEYS[1])";
const SCRIPT = { lua: INCR, sha: createHash('sha1').update(INCR).digest('hex') };

const stops: (() => unknown)[] = [];
let server: RedisServer;
let direct: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  direct = new Redis(server.url);
});

afterAll(async () => {
  direct.disconnect();
  await server.stop();
});

beforeEach(() => direct.flushall());

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

interface Opened {
  readonly client: OwnedClient;
  readonly errors: Error[];
  readonly count: (key?: string) => Promise<unknown>;
}

async function opened(making: OwnedClient | Promise<OwnedClient>, waitMs = 2_000): Promise<Opened> {
  const client = await making;
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  stops.push(() => client.disconnect());
  await untilReady(client, waitMs);
  const runner = scriptRunnerFor(client, 'redis');
  return { client, errors, count: (key = 'n') => runner.run(SCRIPT, [key], []) };
}

async function throughProxy(): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(server);
  stops.push(() => proxy.close());
  return proxy;
}

function borrowed<T extends { disconnect(): void }>(client: T): T {
  (client as unknown as Redis).on('error', () => undefined);
  stops.push(() => client.disconnect());
  return client;
}

const duplicateOf = (client: Redis | Redis5 | Valkey): OwnedClient =>
  safeDuplicate(borrowed(client), TIMEOUT_MS)!;

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Every connection that the module opens, to a URL. */
const opens: [name: string, open: (url: string) => OwnedClient | Promise<OwnedClient>][] = [
  ['its own', (url) => connect(url, 'redis', TIMEOUT_MS)],
  ['a duplicate of ioredis 6', (url) => duplicateOf(new Redis(url))],
  ['a duplicate of ioredis 5', (url) => duplicateOf(new Redis5(url))],
  ['a duplicate of iovalkey', (url) => duplicateOf(new Valkey(url))],
];

describe.each(opens)('a connection, %s', (_name, open) => {
  it('carries out nothing twice when replies are lost (RED-29)', async () => {
    const proxy = await throughProxy();
    const { count } = await opened(open(proxy.url));
    // So that Redis knows the script.
    await count('other');
    proxy.fault = { kind: 'drop-replies' };

    const calls = Array.from({ length: 20 }, () => failure(count()));
    await eventually('all are executed', async () => (await direct.get('n')) === '20');
    proxy.fault = { kind: 'pass' };
    proxy.reset();

    const kinds = (await Promise.all(calls)).map(classifyStoreError);
    expect(new Set(kinds)).toEqual(new Set(['ambiguous']));
    await eventually('it counts again', async () => (await count('other')) !== undefined);
    expect(await direct.get('n')).toBe('20');
  });

  // RED-02, RED-30, RED-31.
  it.each<[string, (proxy: FaultProxy) => void]>([
    ['reset', (proxy) => proxy.reset()],
    ['half-closed', (proxy) => proxy.halfClose()],
    ['cut in a reply', (proxy) => (proxy.fault = { kind: 'cut-replies', afterBytes: 1 })],
    ['answered with garbage', (proxy) => (proxy.fault = { kind: 'garbage' })],
  ])('%s: settles all that was under way, and comes back', async (_fault, strike) => {
    const proxy = await throughProxy();
    const { count } = await opened(open(proxy.url));

    const calls = Array.from({ length: 20 }, () => failure(count()));
    strike(proxy);
    await withDeadline(Promise.all(calls), 2_000, 'what was under way');
    proxy.fault = { kind: 'pass' };

    await eventually('it counts again', async () => (await count()) !== undefined);
    expect(Number(await direct.get('n'))).toBeLessThanOrEqual(21);
  });

  // RED-03, RED-28: no FIN and no RST tells of it.
  it.each<Fault>([{ kind: 'blackhole' }, { kind: 'hold' }, { kind: 'drop-replies' }])(
    'on a line gone dead ($kind): gives it up by itself and opens another',
    async (fault) => {
      const proxy = await throughProxy();
      const { count } = await opened(open(proxy.url));
      proxy.fault = fault;

      const lost = failure(count());
      await withDeadline(lost, 1_500, 'the call');
      proxy.fault = { kind: 'pass' };

      expect(classifyStoreError(await lost)).toBe('ambiguous');
      await eventually('it counts again', async () => (await count()) !== undefined, 5_000);
    },
  );

  it('queues nothing while Redis is away (RED-39)', async () => {
    const proxy = await throughProxy();
    const { client, count } = await opened(open(proxy.url));
    await proxy.refuse();
    proxy.reset();
    await eventually('it is away', async () => client.status !== 'ready');

    const kinds = new Set<unknown>();
    for (let n = 0; n < 5_000; n++) kinds.add(classifyStoreError(await failure(count())));

    expect(kinds).toEqual(new Set(['not-sent']));
    expect((client as unknown as { offlineQueue: unknown[] }).offlineQueue).toHaveLength(0);
    await proxy.accept();
    await eventually('it counts again', async () => (await count()) === 1);
  });

  it('leaves a master that was demoted (RED-11)', async () => {
    const first = await RedisServer.start();
    const second = await startReplica(first);
    stops.push(
      () => first.stop(),
      () => second.stop(),
    );
    const proxy = await FaultProxy.start(first);
    stops.push(() => proxy.close());
    const { count } = await opened(open(proxy.url));
    expect(await count()).toBe(1);

    await promote(second);
    const admin = new Redis(first.url);
    await admin.replicaof(second.host, second.port);
    admin.disconnect();
    proxy.target = second;
    const refused = await failure(count());

    expect(classifyStoreError(refused)).toBe('unavailable');
    await eventually('it counts at the new master', async () => Number(await count()) > 1, 5_000);
  });

  it('is gone 1 s after it is closed, whatever state it is in (RED-52)', async () => {
    const proxy = await throughProxy();
    const clients: OwnedClient[] = [];
    const ready = async (): Promise<void> => {
      clients.push((await opened(open(proxy.url))).client);
    };
    await ready();
    await ready();
    proxy.fault = { kind: 'blackhole' };
    const { client: connecting } = await opened(open(proxy.url), 50);
    const { count } = await opened(clients[0]!);
    const lost = failure(count());

    clients.push(connecting);
    for (const client of clients) client.disconnect();

    await withDeadline(lost, 1_000, 'what was under way');
    const haveEnded = async (): Promise<boolean> => clients.every(({ status }) => status === 'end');
    await eventually('they have ended', haveEnded, 1_000);

    expect(classifyStoreError(await lost)).toBe('ambiguous');
  });
});

describe('a connection of its own', () => {
  it('takes user, password and database from the URL, and has a name', async () => {
    const { client } = await opened(connect(`${server.url}/3`, 'redis', TIMEOUT_MS));

    const list = String(await direct.client('LIST'));

    expect(client.options).toMatchObject({ db: 3 });
    expect(list).toMatch(/name=nestjs-sluice .*db=3/);
  });

  it.each<[string, object]>([
    ['options', {}],
    ['unsafe options', { enableOfflineQueue: true, maxRetriesPerRequest: null }],
    ['more of them', { autoResendUnfulfilledCommands: true, reconnectOnError: () => 2 }],
    ['a lazy one', { lazyConnect: true, enableAutoPipelining: true }],
  ])('is safe whatever is asked for: %s', async (_what, options) => {
    const source = { host: server.host, port: server.port, ...options };
    const { client } = await opened(connect(source, 'redis', TIMEOUT_MS));

    expect(client.status).toBe('ready');
    expect(unsafeSettingsOf(client)).toEqual([]);
    expect((client.options as { reconnectOnError: unknown }).reconnectOnError).not.toBe(
      (options as { reconnectOnError?: unknown }).reconnectOnError,
    );
  });

  it('leaves everything else to the app', async () => {
    const retryStrategy = (): number => 7;
    const source = { host: server.host, port: server.port, keyPrefix: 'app:', connectTimeout: 99 };
    const { client, count } = await opened(
      connect({ ...source, retryStrategy, connectionName: 'mine' }, 'redis', TIMEOUT_MS),
    );

    expect(client.options).toMatchObject({ ...source, connectionName: 'mine', retryStrategy });
    expect(await count()).toBe(1);
    expect(await direct.get('app:n')).toBe('1');
  });

  // RED-40: attempts of many processes spread over the whole pause.
  it('waits for a random time up to 2 s between attempts', () => {
    const { retryStrategy } = connectionSettings({}, TIMEOUT_MS) as {
      retryStrategy: (attempt: number) => number;
    };

    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (attempt) => {
        const delay = retryStrategy(attempt);
        expect(delay).toBeGreaterThanOrEqual(1);
        expect(delay).toBeLessThanOrEqual(Math.min(2_000, 50 * 2 ** attempt));
      }),
    );
    const late = Array.from({ length: 1_000 }, () => retryStrategy(50));
    expect(Math.min(...late)).toBeLessThan(200);
    expect(Math.max(...late)).toBeGreaterThan(1_800);
  });

  it('gives a slow deadline a slow socket', () => {
    expect(connectionSettings({}, 10)).toMatchObject({ socketTimeout: 500 });
    expect(connectionSettings({}, 1_000)).toMatchObject({ socketTimeout: 5_000 });
  });

  it('finds the new master of sentinels, and fails at once until then (RED-14)', async () => {
    const { name, master, replica, sentinels, stop } = await startSentinel();
    stops.push(stop);
    const addresses = sentinels.map(({ host, port }) => ({ host, port }));
    const { client, count } = await opened(
      connect({ sentinels: addresses, name }, 'redis', TIMEOUT_MS),
    );
    expect(await count()).toBe(1);

    await master.kill();
    let slowestMs = 0;
    await eventually('it counts at the new master', async () => {
      const start = performance.now();
      const error = await failure(count());
      slowestMs = Math.max(slowestMs, performance.now() - start);
      return error === undefined;
    });

    expect((client as unknown as Redis).stream.remotePort).toBe(replica.port);
    expect(slowestMs).toBeLessThan(TIMEOUT_MS * 8);
  });

  it('ends although no sentinel answers (RED-52)', async () => {
    const source = { sentinels: [{ host: '127.0.0.1', port: 9 }], name: 'primary' };
    const { client } = await opened(connect(source, 'redis', TIMEOUT_MS), 100);

    client.disconnect();

    await eventually('it has ended', async () => client.status === 'end', 1_000);
    expect((client as unknown as Redis).stream).toBeUndefined();
  });
});

describe('TLS (SEC-69)', () => {
  it('is spoken for rediss and for tls options, and trusts no stranger', async () => {
    const front = await startTls(server);
    stops.push(() => front.close());
    const { port, ca } = front;
    const toldBy = async (source: unknown): Promise<unknown> => {
      const { client, errors } = await opened(connect(source, 'redis', TIMEOUT_MS), 300);
      return client.status === 'ready' ? 'ready' : classifyStoreError(errors[0]);
    };

    expect(await toldBy({ host: 'localhost', port, tls: { ca } })).toBe('ready');
    expect(await toldBy(`rediss://localhost:${port}`)).toBe('misconfigured');
    expect(await toldBy({ host: '127.0.0.1', port, tls: { ca } })).toBe('misconfigured');
    // Not TLS at all.
    expect(await toldBy(`redis://localhost:${port}`)).not.toBe('ready');
  });
});

describe('a connection to a cluster', () => {
  it('carries out nothing twice, follows a failover, and a restart (RED-18, RED-19)', async () => {
    const cluster = await startCluster({ masters: 3, replicas: 1 });
    const proxies = await Promise.all(
      [...cluster.masters, ...cluster.replicas].map((node) => FaultProxy.start(node)),
    );
    stops.push(
      () => cluster.stop(),
      () => Promise.all(proxies.map((proxy) => proxy.close())),
    );
    const natMap = Object.fromEntries(
      proxies.map(({ host, port, target }) => [`${target.host}:${target.port}`, { host, port }]),
    );
    const nodes = proxies.map(({ host, port }) => ({ host, port }));
    const source = { cluster: nodes, options: { natMap, retryDelayOnFailover: 50 } };
    const connections = [
      await opened(connect(source, 'redis', TIMEOUT_MS)),
      ...(await Promise.all(
        [
          new Cluster(nodes, { natMap }),
          new Cluster5(nodes, { natMap }),
          new ValkeyCluster(nodes, { natMap }),
        ].map((client) => opened(safeDuplicate(borrowed(client), TIMEOUT_MS)!)),
      )),
    ];
    // The first master, whose replica there is, has the slot of `b`; the second that of `c`.
    for (const { count } of connections) await count('b');

    for (const proxy of proxies) proxy.fault = { kind: 'drop-replies' };
    const calls = connections.flatMap(({ count }) =>
      Array.from({ length: 5 }, () => failure(count('b'))),
    );
    const master = new Redis(cluster.masters[0]!.url);
    await eventually('all are executed', async () => (await master.get('b')) === '24');
    for (const proxy of proxies) {
      proxy.fault = { kind: 'pass' };
      proxy.reset();
    }
    expect((await Promise.all(calls)).every((error) => error instanceof Error)).toBe(true);
    for (const { count } of connections) {
      await eventually('it counts again', async () => (await count('b')) !== undefined, 5_000);
    }
    expect(await master.get('b')).toBe('28');
    master.disconnect();

    await cluster.masters[0]!.kill();
    for (const { count } of connections) {
      await eventually('it counts at the new master', async () => (await count('b')) !== undefined);
    }

    // No slot changes hands: nothing but the connection is new.
    await cluster.masters[1]!.restart();
    for (const { count } of connections) {
      await eventually('it counts where it did', async () => (await count('c')) !== undefined);
    }
  }, 60_000);

  it('is safe whatever is asked for', () => {
    const settings = clusterSettings(
      {
        enableOfflineQueue: true,
        retryDelayOnFailover: 100,
        scaleReads: 'slave',
        redisOptions: { maxRetriesPerRequest: 20, password: 'x' },
      },
      TIMEOUT_MS,
    );

    expect(unsafeSettings(settings, true)).toEqual([]);
    expect(settings).toMatchObject({ scaleReads: 'slave', redisOptions: { password: 'x' } });
  });
});

describe('the settings of a client of the app', () => {
  const strict = {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  };
  const nodes = [{ host: '127.0.0.1', port: 9 }];
  const strictCluster = {
    lazyConnect: true,
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    redisOptions: strict,
  };
  const all = [
    'enableOfflineQueue: false',
    'autoResendUnfulfilledCommands: false',
    'maxRetriesPerRequest: 0',
  ];
  const allOfCluster = [
    'enableOfflineQueue: false',
    'retryDelayOnFailover: 0',
    'redisOptions.autoResendUnfulfilledCommands: false',
    'redisOptions.maxRetriesPerRequest: 0',
  ];

  it.each<[string, () => object, string[]]>([
    ['ioredis 6', () => new Redis({ lazyConnect: true }), all],
    ['ioredis 5', () => new Redis5({ lazyConnect: true }), all],
    ['iovalkey', () => new Valkey({ lazyConnect: true }), all],
    ['ioredis 6, strict', () => new Redis(strict), []],
    ['ioredis 5, strict', () => new Redis5(strict), []],
    ['iovalkey, strict', () => new Valkey(strict), []],
    [
      'no retries, but a queue',
      () => new Redis({ ...strict, enableOfflineQueue: true }),
      all.slice(0, 1),
    ],
    ['retries for ever', () => new Redis({ ...strict, maxRetriesPerRequest: null }), all.slice(2)],
    ['a cluster', () => new Cluster(nodes, { lazyConnect: true }), allOfCluster],
    ['a cluster of ioredis 5', () => new Cluster5(nodes, { lazyConnect: true }), allOfCluster],
    ['a cluster of iovalkey', () => new ValkeyCluster(nodes, { lazyConnect: true }), allOfCluster],
    ['a strict cluster', () => new Cluster(nodes, strictCluster), []],
    ['a runner', () => ({ run: () => Promise.resolve([]) }), []],
    ['a double with options', () => ({ eval() {}, evalsha() {}, options: { x: 1 } }), []],
  ])('%s', (_what, make, unsafe) => {
    expect(unsafeSettingsOf(make())).toEqual(unsafe);
  });

  it.each<[string, typeof Redis]>([
    ['ioredis 6', Redis],
    ['ioredis 5', Redis5 as unknown as typeof Redis],
    ['iovalkey', Valkey as unknown as typeof Redis],
  ])('stay as they are, and go over to the duplicate: %s', async (_name, Client) => {
    const client = borrowed(
      new Client(`${server.url}/2`, {
        keyPrefix: 'app:',
        connectionName: 'the app',
        lazyConnect: true,
      }),
    );
    const before = { ...client.options };

    const { client: duplicate, count } = await opened(safeDuplicate(client, TIMEOUT_MS)!);
    await count();
    const { keyPrefix, connectionName, db } = before;

    expect(client.options).toEqual(before);
    expect(client.status).toBe('wait');
    expect(duplicate.options).toMatchObject({ keyPrefix, connectionName, db });
    expect(unsafeSettingsOf(duplicate)).toEqual([]);
    await direct.select(2);
    expect(await direct.get('app:n')).toBe('1');
    await direct.select(0);
  });

  it('of a client in subscriber mode do not matter to its duplicate (RED-57)', async () => {
    const client = borrowed(new Redis(server.url));
    await client.subscribe('channel');

    const { count } = await opened(safeDuplicate(client, TIMEOUT_MS)!);

    expect(await count()).toBe(1);
  });
});

// RED-21.
describe('eviction', () => {
  afterEach(async () => {
    await direct.config('SET', 'maxmemory', '0');
    await direct.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it.each<[policy: string, maxmemory: string, isWarnedOf: boolean]>([
    ['noeviction', '64mb', false],
    ['noeviction', '0', false],
    ['allkeys-lru', '0', false],
    ['allkeys-lru', '64mb', true],
    ['allkeys-random', '64mb', true],
    // Every counter has a time to live.
    ['volatile-lru', '64mb', true],
    ['volatile-ttl', '64mb', true],
  ])('%s with maxmemory %s', async (policy, maxmemory, isWarnedOf) => {
    await direct.config('SET', 'maxmemory', maxmemory);
    await direct.config('SET', 'maxmemory-policy', policy);

    const warning = await evictionWarning(direct);

    const words = /maxmemory-policy is '([\w-]+)' with maxmemory (\d+)/.exec(warning ?? '');
    expect(warning !== undefined).toBe(isWarnedOf);
    expect(words?.slice(1)).toEqual(isWarnedOf ? [policy, '67108864'] : undefined);
  });

  it('is nobody’s business where it is not permitted or cannot be asked', async () => {
    await direct.call('ACL', 'SETUSER', 'blind', 'on', '>pw', '+@all', '-info');
    const blind = new Redis(server.url.replace('//', '//blind:pw@'), { enableReadyCheck: false });
    await direct.config('SET', 'maxmemory', '64mb');
    await direct.config('SET', 'maxmemory-policy', 'allkeys-lru');

    expect(await evictionWarning(blind)).toBeUndefined();
    expect(await evictionWarning({ run: () => Promise.resolve([]) })).toBeUndefined();
    expect(await evictionWarning(undefined)).toBeUndefined();
    blind.disconnect();
  });
});

it('is not kept waiting by a client that is ready', async () => {
  const { client } = await opened(connect(server.url, 'redis', TIMEOUT_MS));

  expect(await Promise.race([untilReady(client, 5_000), sleep(40, 'late')])).toBe(true);
});
