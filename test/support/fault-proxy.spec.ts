import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { FaultProxy, type Fault } from './fault-proxy.js';
import { RedisServer } from './redis-server.js';

describe('FaultProxy', () => {
  let server: RedisServer;
  let direct: Redis;
  let proxy: FaultProxy;
  const clients: Redis[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
    direct = new Redis(server.url);
  });

  afterAll(async () => {
    direct.disconnect();
    await server.stop();
  });

  beforeEach(async () => {
    proxy = await FaultProxy.start(server);
    await direct.flushall();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await proxy.close();
  });

  /** Through the proxy; what is lost with a connection is rejected, never sent again. */
  async function connect(): Promise<Redis> {
    const client = new Redis(proxy.url, {
      maxRetriesPerRequest: 0,
      retryStrategy: () => 10,
      disconnectTimeout: 20,
    });
    client.on('error', () => undefined);
    clients.push(client);
    await client.ping();
    return client;
  }

  const outcome = (promise: Promise<unknown>): Promise<unknown> =>
    promise.catch((error: Error) => error.name);

  const counted = (times: string) => async () => (await direct.get('n')) === times;

  it('passes everything on, and counts it', async () => {
    const client = await connect();
    const { requests, replies } = proxy.delivered;

    expect(await client.set('key', 'x'.repeat(100_000))).toBe('OK');
    expect(await client.get('key')).toHaveLength(100_000);

    expect(proxy.delivered.requests - requests).toBeGreaterThan(100_000);
    expect(proxy.delivered.replies - replies).toBeGreaterThan(100_000);
    expect([proxy.connections, proxy.open]).toEqual([1, 1]);
  });

  it('slow: adds its delay each way', async () => {
    const client = await connect();
    proxy.fault = { kind: 'slow', ms: 20 };
    const start = performance.now();

    await Promise.all(Array.from({ length: 20 }, () => client.ping()));

    // Timers may be a millisecond early. Side by side, so far from 20 times as long.
    expect(performance.now() - start).toBeGreaterThan(38);
    expect(performance.now() - start).toBeLessThan(400);
  });

  it('slow: a share of chunks, the same for the same seed, never out of order', async () => {
    const runs: boolean[][] = [];
    for (let run = 0; run < 2; run++) {
      const seeded = await FaultProxy.start(server, 7);
      const client = new Redis(seeded.url);
      await client.ping();
      seeded.fault = { kind: 'slow', ms: 30, jitterMs: 5, share: 0.2 };
      const late: boolean[] = [];
      for (let n = 0; n < 20; n++) {
        const start = performance.now();
        const slowed = seeded.slowed;
        expect(await client.echo(`${n}`)).toBe(`${n}`);
        const isLate = seeded.slowed > slowed;
        expect(performance.now() - start).toBeGreaterThan(isLate ? 28 : 0);
        late.push(isLate);
      }
      runs.push(late);
      client.disconnect();
      await seeded.close();
    }

    expect(runs[0]).toEqual(runs[1]);
    expect(new Set(runs[0])).toEqual(new Set([true, false]));
  });

  it('slice: the same bytes, in pieces', async () => {
    const client = await connect();
    let pieces = 0;
    client.stream.on('data', () => pieces++);
    proxy.fault = { kind: 'slice', maxBytes: 1 };
    expect(await client.echo('one at a time: ü')).toBe('one at a time: ü');
    expect(pieces).toBeGreaterThan(3);

    proxy.fault = { kind: 'slice', maxBytes: 1_000 };
    const text = 'text '.repeat(4_000);
    expect(await client.echo(text)).toBe(text);
  });

  it('hold: delivers late, once it is over', async () => {
    const client = await connect();
    proxy.fault = { kind: 'hold' };

    const late = client.incr('n');
    const first = await Promise.race([late, sleep(40, 'none')]);
    expect(first).toBe('none');
    expect(await direct.get('n')).toBeNull();
    proxy.fault = { kind: 'pass' };

    expect(await late).toBe(1);
  });

  it('blackhole: the server gets nothing, the client neither an answer nor an end', async () => {
    const client = await connect();
    proxy.fault = { kind: 'blackhole' };

    const lost = outcome(client.incr('n'));
    expect(await Promise.race([lost, direct.ping()])).toBe('PONG');
    proxy.fault = { kind: 'pass' };
    const alsoLost = outcome(client.incr('n'));
    expect(await (await connect()).incr('n')).toBe(1);
    expect(client.status).toBe('ready');
    proxy.reset();

    expect(await lost).toBe('MaxRetriesPerRequestError');
    expect(await alsoLost).toBe('MaxRetriesPerRequestError');
    expect(await direct.get('n')).toBe('1');
  });

  it('blackhole: accepts connections that never get ready', async () => {
    proxy.fault = { kind: 'blackhole' };
    const client = new Redis(proxy.url, { disconnectTimeout: 20 });
    clients.push(client);

    await eventually('it is connected', async () => client.status === 'connect');

    expect(proxy.connections).toBe(1);
    expect(proxy.delivered).toEqual({ requests: 0, replies: 0 });
  });

  it('drop-replies: the server does what the client never hears of (RED-29)', async () => {
    const client = await connect();
    proxy.fault = { kind: 'drop-replies' };

    const unheard = outcome(client.incr('n'));
    await eventually('it is counted', counted('1'));
    proxy.fault = { kind: 'pass' };
    const alsoUnheard = outcome(client.incr('n'));
    await eventually('it is counted', counted('2'));
    proxy.reset();

    expect(await unheard).toBe('MaxRetriesPerRequestError');
    expect(await alsoUnheard).toBe('MaxRetriesPerRequestError');
  });

  // RED-30, RED-31.
  it.each<[string, Fault, RegExp]>([
    ['cut-replies at once', { kind: 'cut-replies', afterBytes: 0 }, /max retries per request/],
    ['cut-replies', { kind: 'cut-replies', afterBytes: 1 }, /max retries per request/],
    ['garbage', { kind: 'garbage' }, /Unknown RESP type/],
  ])('%s: done, not answered, and the connection is gone', async (_name, fault, message) => {
    const client = await connect();
    const closed = new Promise((resolve) => client.once('close', resolve));
    proxy.fault = fault;

    const broken = client.incr('n').catch((error: Error) => error.message);
    await closed;
    proxy.fault = { kind: 'pass' };

    expect(await broken).toMatch(message);
    expect(await direct.get('n')).toBe('1');
    expect(await (await connect()).incr('n')).toBe(2);
  });

  it.each(['reset', 'halfClose'] as const)('%s: ends connections that live', async (end) => {
    const client = await connect();
    const errors: string[] = [];
    client.on('error', ({ message }: Error) => errors.push(message));
    const again = new Promise((resolve) => client.once('ready', resolve));

    proxy[end]();
    await again;

    expect(errors.some((message) => message.includes('ECONNRESET'))).toBe(end === 'reset');
    expect(proxy.connections).toBe(2);
    await eventually('the old one is gone', async () => proxy.open === 1);
  });

  it('refuses new connections, keeps old ones, and takes new ones again', async () => {
    const old = await connect();
    await proxy.refuse();
    const refused = new Redis(proxy.url, { retryStrategy: () => null, lazyConnect: true });
    refused.on('error', () => undefined);

    expect(await old.ping()).toBe('PONG');
    expect(await outcome(refused.connect())).not.toBeUndefined();
    await proxy.accept();

    expect(await (await connect()).ping()).toBe('PONG');
    expect(proxy.connections).toBe(2);
  });

  it('leaves nothing open', async () => {
    const client = await connect();
    const closed = new Promise((resolve) => client.once('close', resolve));

    await proxy.close();
    await closed;

    expect(proxy.open).toBe(0);
    await eventually('the server has but one client', async () => {
      const info = await direct.info('clients');
      return info.includes('connected_clients:1\r');
    });
  });
});
