import { existsSync } from 'node:fs';
import { Cluster, Redis } from 'ioredis';
import { RedisServer, startCluster, startSentinel } from './redis-server.js';

describe('RedisServer', () => {
  let server: RedisServer;
  let client: Redis;

  beforeEach(async () => {
    server = await RedisServer.start({ args: ['--maxmemory', '64mb'] });
    client = new Redis(server.url, { retryStrategy: () => 20 });
    client.on('error', () => undefined);
  });

  afterEach(async () => {
    client.disconnect();
    await server.stop();
  });

  it('takes arguments', async () => {
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', '67108864']);
  });

  it('comes back empty on the same port', async () => {
    await client.set('key', 'value');

    await server.restart();

    expect(await client.get('key')).toBeNull();
  });

  it('answers what was asked during a pause after it', async () => {
    await client.set('key', 'value');

    server.pause();
    const answer = client.get('key');
    const first = await Promise.race([answer, new Promise((done) => setTimeout(done, 40, 'none'))]);
    server.resume();

    expect(first).toBe('none');
    expect(await answer).toBe('value');
  });

  it('removes its folder when it stops, and stops twice', async () => {
    const [, directory = ''] = await client.config('GET', 'dir');
    expect(existsSync(directory)).toBe(true);

    await server.stop();
    await server.stop();

    expect(existsSync(directory)).toBe(false);
  });

  it('tells why a server did not start', async () => {
    await expect(RedisServer.start({ port: server.port })).rejects.toThrow(
      'Address already in use',
    );
  });
});

describe('startCluster', () => {
  it('takes writes on every master and copies them to the replica', async () => {
    const cluster = await startCluster({ masters: 3, replicas: 1 });
    const client = new Cluster([...cluster.nodes]);
    // One key for each third of the slots.
    const keys = ['a', 'b', 'c'];

    try {
      for (const key of keys) expect(await client.set(key, 'value')).toBe('OK');
      const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()));

      expect(sizes).toEqual([1, 1, 1]);
      expect(cluster.replicas).toHaveLength(1);
    } finally {
      client.disconnect();
      await cluster.stop();
    }
  });
});

describe('startSentinel', () => {
  it('resolves the master', async () => {
    const { name, master, sentinels, stop } = await startSentinel();
    const addresses = sentinels.map(({ host, port }) => ({ host, port }));
    const client = new Redis({ sentinels: addresses, name });

    try {
      expect(await client.set('key', 'value')).toBe('OK');
      expect(client.stream.remotePort).toBe(master.port);
    } finally {
      client.disconnect();
      await stop();
    }
  });
});
