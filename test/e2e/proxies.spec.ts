import { Controller, Get } from '@nestjs/common';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IpOptions } from '../../src/index.js';
import { platforms, type RunningApp } from '../support/platforms.js';

@Controller()
class OpenController {
  @Get() get() {
    return 'ok';
  }
}

type TrustProxy =
  boolean | number | string | ((address: string | undefined, hops: number) => boolean);

const SENT = /X-Forwarded-For was sent, and no proxy is trusted/;
const EVERYBODY = /trust proxy trusts everybody/;
const NO_ADDRESS = /a request came without an address/;

describe.each(platforms)('behind proxies, on $name', ({ name, start }) => {
  const app = (limit: number, trustProxy: TrustProxy = false, ip: IpOptions = {}) =>
    start({
      controllers: [OpenController],
      rateLimit: {
        identity: { ip },
        tiers: [{ name: 'all', by: 'ip', algorithm: 'fixed-window', limit, window: '1h' }],
      },
      trustProxy: trustProxy as string,
    });

  describe('warns', () => {
    const everybody = () => true;
    const loopback = (address?: string) => address === '127.0.0.1';
    const broken = (address?: string) => {
      if (address === '127.0.0.1') return true;
      throw new Error('not an address of ours');
    };

    it.each<[string, TrustProxy, string | undefined, RegExp[]]>([
      ['nobody is trusted and no header comes', false, undefined, []],
      ['nobody is trusted and a header comes (SEC-04)', false, '203.0.113.9', [SENT]],
      ['an empty header comes (SEC-04)', false, '', [SENT]],
      ['the proxy is trusted', 'loopback', '203.0.113.9', []],
      ['the client names the proxy itself', 'loopback', '127.0.0.1', []],
      // Fastify believes nothing because of a number.
      ['a number of proxies is trusted', 1, '203.0.113.9', name === 'express' ? [] : [SENT]],
      ['a function trusts the proxy', loopback, '203.0.113.9', []],
      ['a function throws at strangers', broken, '127.0.0.1', []],
      ['a wide range is trusted', '10.0.0.0/8, 127.0.0.0/10', '203.0.113.9', []],
      ['everybody is trusted (SEC-03)', true, '203.0.113.9', [EVERYBODY]],
      ['a function trusts everybody (SEC-03)', everybody, '203.0.113.9', [EVERYBODY]],
    ])('once when %s', async (_case, trustProxy, forwarded, warnings) => {
      const { ask, log } = await app(100, trustProxy);
      const headers: Record<string, string> =
        forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };

      for (let n = 0; n < 3; n++) await ask('/', { headers });

      const said = warningsOf(log);
      expect(said).toHaveLength(warnings.length);
      for (const [index, warning] of warnings.entries()) expect(said[index]).toMatch(warning);
    });
  });

  it('SEC-01: 500 rotated headers without a trusted proxy are one client, and one warning', async () => {
    const { ask, log } = await app(10);

    const admitted = await count(500, (n) => ask('/', forwarded(`203.0.${n >> 8}.${n & 255}`)));

    expect(admitted).toBe(10);
    expect(warningsOf(log)).toEqual([expect.stringMatching(SENT)]);
  });

  it('SEC-02: what stands left of the hop that the proxy added is not believed', async () => {
    const { ask } = await app(3, 'loopback');

    const admitted = await count(50, (n) => ask('/', forwarded(`6.6.6.${n}, 198.51.100.7`)));

    expect(admitted).toBe(3);
  });

  it('SEC-05: a header that claims an address leaves its bucket untouched', async () => {
    const { ask } = await app(2);
    for (let n = 0; n < 5; n++) await ask('/', forwarded('127.0.0.2'));

    const { headers } = await ask('/', { from: '127.0.0.2' });

    expect(headers['x-ratelimit-remaining']).toBe('1');
  });

  it('SEC-06: what is no address makes no bucket, and costs no time', async () => {
    const junk = [
      ...['', ' ', ',', ', ,', 'unknown', '_hidden', '-', '0', 'localhost', 'null', '127.1'],
      ...['999.1.1.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x7f.0.0.1', '2130706433', '1.2.3.4:x'],
      ...['[2001:db8::1', '2001:db8::g', '1::2::3', ':::', '10.0.0.0/8', '"[2001:db8::1]"'],
      ...[
        'for=1.2.3.4',
        '1.2.3.4;5.6.7.8',
        '%eth0',
        '\u00e9',
        ','.repeat(8_192),
        '1'.repeat(8_192),
      ],
      ...['1.'.repeat(4_096), ':'.repeat(8_192), `[${'0:'.repeat(4_000)}]:1`],
    ];
    const { ask } = await app(10, 'loopback');

    const started = performance.now();
    const admitted = await count(junk.length, (n) => ask('/', forwarded(junk[n]!)));

    expect(admitted).toBe(10);
    expect((await ask('/')).status).toBe(429);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it.each<[string, number, (n: number) => string]>([
    ['SEC-07: 300 ports of one IPv4 address', 300, (n) => `198.51.100.7:${n + 1}`],
    ['SEC-07: 300 ports of one IPv6 address', 300, (n) => `[2001:db8::7]:${n + 1}`],
    ['SEC-08: 300 addresses of one /64', 300, (n) => `2001:db8::${n.toString(16)}:1`],
    ['SEC-09: the 256 networks of one /56', 256, (n) => `2001:db8:0:${n.toString(16)}::1`],
    ['SEC-10: spellings of one address', 4, (n) => IPV6_SPELLINGS[n]!],
    ['SEC-11: spellings of a mapped address', 5, (n) => MAPPED_SPELLINGS[n]!],
  ])('%s are one client', async (_what, times, spell) => {
    const { ask } = await app(3, 'loopback');

    expect(await count(times, (n) => ask('/', forwarded(spell(n))))).toBe(3);
  });

  it.each<[string, IpOptions, number, (n: number) => string]>([
    [
      'SEC-09: networks of a /56, at 64',
      { ipv6Prefix: 64 },
      20,
      (n) => `2001:db8:0:${n.toString(16)}::1`,
    ],
    [
      'SEC-13: IPv4 clients of NAT64, with nat64',
      { nat64: true },
      20,
      (n) => `64:ff9b::c633:64${n + 10}`,
    ],
  ])('%s are different clients', async (_what, ip, times, spell) => {
    const { ask } = await app(1, 'loopback', ip);

    expect(await count(times, (n) => ask('/', forwarded(spell(n))))).toBe(times);
  });

  it('SEC-13: a NAT64 address is the IPv4 address in it, if the option says so', async () => {
    const { ask } = await app(1, 'loopback', { nat64: true });

    expect((await ask('/', forwarded('198.51.100.7'))).status).toBe(200);
    expect((await ask('/', forwarded('64:ff9b::198.51.100.7'))).status).toBe(429);
  });

  it('SEC-12: two IPv4 clients of a dual-stack socket are two', async () => {
    const running = await app(1);
    const { port } = (await alsoListen(running, { host: '::', port: 0 })).address() as AddressInfo;
    const ask = (localAddress: string) => statusOf({ host: '127.0.0.1', port, localAddress });

    expect(await ask('127.0.0.1')).toBe(200);
    expect(await ask('127.0.0.1')).toBe(429);
    expect(await ask('127.0.0.2')).toBe(200);
    // The same client, whichever socket it comes through.
    expect((await running.ask('/')).status).toBe(429);
  });

  describe('on a Unix socket (SEC-15)', () => {
    const socket = async (running: RunningApp) => {
      const path = join(mkdtempSync(join(tmpdir(), 'sluice-socket-')), 'http');
      await alsoListen(running, { path });
      return (headers: Record<string, string> = {}) => statusOf({ socketPath: path, headers });
    };

    it('counts all as one client, apart from those with an address, and warns once', async () => {
      const running = await app(2);
      const ask = await socket(running);

      expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
      expect((await running.ask('/')).status).toBe(200);
      expect(warningsOf(running.log)).toEqual([expect.stringMatching(NO_ADDRESS)]);
    });

    it('counts the clients of a proxy that is trusted', async () => {
      const running = await app(1, (address) => address === undefined);
      const ask = await socket(running);

      expect(await ask({ 'x-forwarded-for': '198.51.100.7' })).toBe(200);
      expect(await ask({ 'x-forwarded-for': '198.51.100.8' })).toBe(200);
      expect(await ask({ 'x-forwarded-for': '6.6.6.6, 198.51.100.8' })).toBe(429);
      expect(warningsOf(running.log)).toEqual([]);
    });
  });
});

const IPV6_SPELLINGS = [
  '2001:db8::7',
  '2001:0DB8:0000:0000:0000:0000:0000:0007',
  '[2001:db8::0.0.0.7]',
  '2001:db8:0::7%eth0',
];
const MAPPED_SPELLINGS = [
  '198.51.100.7',
  '::ffff:198.51.100.7',
  '::FFFF:C633:6407',
  '0:0:0:0:0:ffff:c633:6407',
  '[::ffff:198.51.100.7]:443',
];

const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } });

async function count(
  times: number,
  ask: (n: number) => Promise<{ readonly status: number }>,
): Promise<number> {
  let admitted = 0;
  for (let n = 0; n < times; n++) if ((await ask(n)).status === 200) admitted++;
  return admitted;
}

function warningsOf(log: RunningApp['log']): string[] {
  return log.filter(({ level }) => level === 'warn').map(({ text }) => text);
}

const listening: Server[] = [];

afterEach(() => {
  for (const server of listening.splice(0)) server.close();
});

/** Another socket for the same app, which is its owner's to choose. */
async function alsoListen({ app }: RunningApp, where: ListenOptions): Promise<Server> {
  const server = createServer((connection) => app.getHttpServer().emit('connection', connection));
  listening.push(server);
  server.listen(where);
  await once(server, 'listening');
  return server;
}

function statusOf(options: {
  readonly host?: string;
  readonly port?: number;
  readonly localAddress?: string;
  readonly socketPath?: string;
  readonly headers?: Record<string, string>;
}): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...options, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    });
    request.on('error', reject).end();
  });
}
