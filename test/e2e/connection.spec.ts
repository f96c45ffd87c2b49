import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { RATE_LIMIT_REDIS, fromNodeRedis } from '../../src/index.js';
import { msToEnd } from '../support/ending-process.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import {
  bootError,
  platforms,
  type Platform,
  type RateLimit,
  type RunningApp,
} from '../support/platforms.js';
import { RedisServer, startCluster } from '../support/redis-server.js';
import { freePorts } from '../support/redis/free-ports.js';

@Controller()
class Search {
  @Get('find') find() {}
}

const stops: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function redisServer(args: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start({ args });
  stops.push(() => server.stop());
  return server;
}

async function proxyTo(server: RedisServer): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(server);
  stops.push(() => proxy.close());
  return proxy;
}

function borrowed<T extends { disconnect(): void }>(client: T): T {
  (client as unknown as Redis).on('error', () => undefined);
  stops.push(() => client.disconnect());
  return client;
}

const search = ({ start }: Platform, redis: unknown, more: RateLimit = {}): Promise<RunningApp> =>
  start({
    rateLimit: {
      redis: redis as string,
      identity: { secret: '0123456789abcdef' },
      tiers: [{ name: 'plan', policy: 'token-bucket:100/1h' }],
      ...more,
    },
    controllers: [Search],
  });

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const [express] = platforms as [Platform, Platform];

describe('booting', () => {
  const absences: [string, () => Promise<string>, RegExp][] = [
    [
      'refused (RED-01)',
      async () => `redis://127.0.0.1:${(await freePorts(1))[0]}`,
      /\(connect ECONNREFUSED/,
    ],
    [
      'accepted by something mute (RED-28)',
      async () => {
        const proxy = await proxyTo(await redisServer());
        proxy.fault = { kind: 'blackhole' };
        return proxy.url;
      },
      /Redis did not answer/,
    ],
    ['of no such host (RED-32)', async () => 'redis://no-such-host.invalid', /\(getaddrinfo E/],
    [
      'a wrong password (RED-25)',
      async () => {
        const { url } = await redisServer(['--requirepass', 'right']);
        return url.replace('//', '//:hunter2@');
      },
      /\(WRONGPASS/,
    ],
  ];

  it.each(absences)('goes on without Redis: %s', async (_what, url, reason) => {
    const source = await url();
    let app!: RunningApp;

    const bootMs = await msOf(async () => (app = await search(express, source)));
    const decisionMs = await msOf(() => app.ask('/find'));
    const { status, headers } = await app.ask('/find');

    expect(bootMs).toBeLessThan(3_500);
    expect(decisionMs).toBeLessThan(500);
    expect([status, headers['x-ratelimit-limit']]).toEqual([200, '100']);
    const errors = app.log.filter(({ level }) => level === 'error').map(({ text }) => text);
    expect(errors).toHaveLength(2);
    expect(errors[0]).toMatch(/^Redis did not answer within 2000 ms.*; the app starts without it$/);
    expect(errors[0]).toMatch(reason);
    expect(JSON.stringify(app.log)).not.toMatch('hunter2');
  });

  it('is refused without Redis where the app asks for it, and leaves nothing open (SEC-57)', async () => {
    const proxy = await proxyTo(await redisServer(['--requirepass', 'right']));
    const client = borrowed(
      new Redis(proxy.url, {
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
        protocol: 2,
      }),
    );

    const { host, port } = proxy;
    const source = { host, port, retryStrategy: () => 5 };
    const own = await bootError({ redis: source, requireRedisAtBoot: true });
    const ofTheApp = await bootError({ redis: client, requireRedisAtBoot: true });

    expect(own).toMatch(
      /^RateLimit: redis: did not answer within 2000 ms \(NOAUTH.*\), and requireRedisAtBoot is true$/,
    );
    expect(ofTheApp).toMatch(/^RateLimit: redis: did not answer within 2000 ms/);
    client.disconnect();
    await eventually('all is closed', async () => proxy.open === 0);
    const { connections } = proxy;
    await sleep(50);
    expect(proxy.connections).toBe(connections);
  });

  it('is refused for a client of any shape that cannot ask', async () => {
    const { url } = await redisServer();
    const client = createClient({ url });
    const redis = fromNodeRedis(client);

    expect(await bootError({ redis, requireRedisAtBoot: true })).toMatch(
      /^RateLimit: redis: did not answer within 2000 ms \(.+\), and requireRedisAtBoot is true$/,
    );
    await client.connect();
    expect(await bootError({ redis, requireRedisAtBoot: true })).toBeUndefined();
    client.destroy();
  });

  it('needs no waiting where Redis is there', async () => {
    const { url } = await redisServer();

    expect(await bootError({ redis: url, requireRedisAtBoot: true })).toBeUndefined();
    expect(
      await bootError({ redis: borrowed(new Redis(url)), requireRedisAtBoot: true }),
    ).toBeUndefined();
  });

  it('counts in Redis from when it is there', async () => {
    const server = await redisServer();
    const proxy = await proxyTo(server);
    await proxy.refuse();
    const app = await search(express, proxy.url);
    const direct = borrowed(new Redis(server.url));

    await proxy.accept();
    await eventually('a decision is in Redis', async () => {
      await app.ask('/find');
      return (await direct.dbsize()) > 0;
    });

    // Of another client: this one may have used up its quota until then.
    expect(await app.admitted('/find', 3, { from: '127.0.0.9' })).toBe(3);
  });
});

type Outage = [what: string, strike: (server: RedisServer, proxy: FaultProxy) => unknown];

const outages: Outage[] = [
  ['none', () => undefined],
  ['killed', (server) => server.kill()],
  ['stopped', (server) => server.pause()],
  ['gone dead', (_server, proxy) => (proxy.fault = { kind: 'blackhole' })],
  [
    'gone dead, and reconnecting',
    (_server, proxy) => {
      proxy.fault = { kind: 'blackhole' };
      proxy.reset();
    },
  ],
];

// RED-52.
describe.each(platforms)('shutting down in an outage, on $name', (platform) => {
  it.each(outages)('takes less than a second: %s', async (_what, strike) => {
    const server = await redisServer();
    const proxy = await proxyTo(server);
    const client = borrowed(new Redis(proxy.url));
    await client.ping();
    const apps = [
      await search(platform, proxy.url, { prefix: 'own' }),
      await search(platform, client, { prefix: 'duplicate' }),
    ];
    for (const { ask } of apps) await ask('/find');

    await strike(server, proxy);
    const late = apps.map(({ ask }) => ask('/find'));
    const statuses = (await Promise.all(late)).map(({ status }) => status);
    const closingMs = await msOf(() => Promise.all(apps.map(({ app }) => app.close())));

    expect(statuses).toEqual([200, 200]);
    expect(closingMs).toBeLessThan(1_000);
    expect(client.status).not.toBe('end');
    server.resume();
  });

  it('settles what is under way (RED-53)', async () => {
    const proxy = await proxyTo(await redisServer());
    const app = await search(platform, proxy.url);
    await app.ask('/find');
    const { requests } = proxy.delivered;
    proxy.fault = { kind: 'drop-replies' };

    const outcomes = Array.from({ length: 20 }, () =>
      app.ask('/find').then(
        ({ status }) => String(status),
        // One that came when the server had closed.
        ({ code }: { code?: string }) => String(code),
      ),
    );
    await eventually('Redis is asked', async () => proxy.delivered.requests > requests);
    await app.app.close();

    expect((await Promise.all(outcomes)).join(' ')).toMatch(/^(200 ?)+((503|ECONNRE\w+) ?)*$/);
  });
});

// RED-52: a handle that is left open would keep it alive.
describe('a process whose app has shut down', () => {
  it.each(outages)('ends within a second: %s', async (_what, strike) => {
    const server = await redisServer();
    const proxy = await proxyTo(server);

    expect(await msToEnd(proxy.url, () => strike(server, proxy))).toBeLessThan(1_000);

    server.resume();
  });

  it('ends soon although it has never been ready', async () => {
    const nowhere = { host: '127.0.0.1', port: 9 };

    const [single, cluster, sentinel] = await Promise.all(
      ['redis://127.0.0.1:9', { cluster: [nowhere] }, { sentinels: [nowhere], name: 'x' }].map(
        (source) => msToEnd(source, () => undefined),
      ),
    );

    expect(single).toBeLessThan(1_000);
    expect(cluster).toBeLessThan(1_000);
    // ioredis keeps a timer of 2 s for each sentinel that it has given up.
    expect(sentinel).toBeLessThan(3_500);
  });
});

describe('a client of the app', () => {
  it.each<[string, (url: string) => Redis]>([
    ['ioredis 6', (url) => new Redis(url)],
    ['ioredis 5', (url) => new Redis5(url) as unknown as Redis],
    ['iovalkey', (url) => new Valkey(url) as unknown as Redis],
  ])('stays open and as it is; a duplicate is opened and closed: %s', async (_name, make) => {
    const server = await redisServer();
    const client = borrowed(make(server.url));
    await client.ping();
    const before = { ...client.options };
    const listeners = client.eventNames().map((name) => [name, client.listenerCount(name)]);

    const app = await search(express, client);
    const used = app.app.get<Redis>(RATE_LIMIT_REDIS);
    await app.ask('/find');
    await app.app.close();

    expect(used).not.toBe(client);
    expect(used.options).toMatchObject({ maxRetriesPerRequest: 0, enableOfflineQueue: false });
    await eventually('the duplicate has ended', async () => used.status === 'end', 1_000);
    expect(client.status).toBe('ready');
    expect(client.options).toEqual(before);
    expect(client.eventNames().map((name) => [name, client.listenerCount(name)])).toEqual(
      listeners,
    );
    expect(await client.keys('rl{*')).toHaveLength(1);
    expect(app.log.filter(({ level }) => level === 'log').map(({ text }) => text)).toEqual([
      "opens a connection like the client of 'redis', with enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0",
    ]);
  });

  it('is used itself where it is safe, and where the app says so, with a warning', async () => {
    const { url } = await redisServer();
    const safe = borrowed(
      new Redis(url, {
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
      }),
    );
    const unsafe = borrowed(new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false }));
    await eventually('they are ready', async () =>
      [safe, unsafe].every((c) => c.status === 'ready'),
    );

    const apps = [
      await search(express, safe),
      await search(express, unsafe, { reuseConnection: true }),
    ];
    for (const { ask } of apps) await ask('/find');
    const used = apps.map(({ app }) => app.get<unknown>(RATE_LIMIT_REDIS));
    for (const { app } of apps) await app.close();

    expect(used[0]).toBe(safe);
    expect(used[1]).toBe(unsafe);
    expect([safe.status, unsafe.status]).toEqual(['ready', 'ready']);
    expect(apps.map(({ log }) => log)).toEqual([
      [],
      [
        {
          level: 'warn',
          text: "the client of 'redis' may charge twice or late; give it autoResendUnfulfilledCommands: false",
        },
      ],
    ]);
  });

  it('of a cluster: likewise', async () => {
    const cluster = await startCluster({ masters: 3 });
    stops.push(() => cluster.stop());
    const client = borrowed(new Cluster([...cluster.nodes]));

    const app = await search(express, client);
    const used = app.app.get<Cluster>(RATE_LIMIT_REDIS);
    const { headers } = await app.ask('/find');
    const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()));
    const counted = sizes.filter((size) => size > 0);
    await app.app.close();

    expect(used).not.toBe(client);
    expect(headers['x-ratelimit-remaining']).toBe('99');
    expect(counted).toEqual([1]);
    // ioredis emits 'end' of a cluster, and then says 'close'.
    await eventually('it has ended', async () => /^(end|close)$/.test(used.status), 1_000);
    expect(used.nodes()).toEqual([]);
    expect(await client.get('key')).toBeNull();
  }, 60_000);
});

// RED-21.
describe('what boot warns of (SEC-69)', () => {
  it('is eviction, on a connection of its own and on one of the app', async () => {
    const { url } = await redisServer([
      ...['--maxmemory', '64mb'],
      ...['--maxmemory-policy', 'volatile-ttl'],
    ]);
    const client = borrowed(new Redis(url));
    const apps = [
      await search(express, url),
      await search(express, client),
      await search(express, client, { reuseConnection: true }),
    ];

    const warnings = (): string[] =>
      apps
        .flatMap(({ log }) => log.filter(({ level }) => level === 'warn'))
        .map(({ text }) => text);
    await eventually('all have warned', async () => warnings().length >= 4);

    expect(warnings().filter((text) => text.includes("'volatile-ttl'"))).toHaveLength(3);
  });

  it('is a server that nobody vouches for', async () => {
    const { host, port } = await redisServer();
    const source = { host, port, tls: { rejectUnauthorized: false } };

    const app = await search(express, source);

    expect(app.log.map(({ text }) => text)).toContain(
      'redis: tls.rejectUnauthorized is false, so anybody may pass for Redis',
    );
  });
});
