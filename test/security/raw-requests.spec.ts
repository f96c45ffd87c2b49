import { All, Controller, Get, Post, Sse } from '@nestjs/common';
import { of } from 'rxjs';
import { RateLimit } from '../../src/index.js';
import { platforms } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';
import { sendRaw, statusesOf } from './raw-http.js';

const LIMIT = 5;
const CONNECTIONS = 20;
const perHour = `fixed-window:${LIMIT}/1h` as const;

let handled = 0;
beforeEach(() => (handled = 0));

@Controller()
class Target {
  @Get('a') @RateLimit(perHour) get() {
    return ++handled;
  }
  @Post('posted') @RateLimit(perHour) post() {
    return ++handled;
  }
  @Get('items/:id') @RateLimit(perHour) item() {
    return ++handled;
  }
  @All('any') @RateLimit(perHour) any() {
    return ++handled;
  }
  @Sse('events') @RateLimit(perHour) events() {
    return of({ data: ++handled });
  }
}

const get = (target: string, headers = '', version = '1.1') =>
  `GET ${target} HTTP/${version}\r\nHost: host\r\nConnection: close\r\n${headers}\r\n`;
const keptAlive = (target: string) => `GET ${target} HTTP/1.1\r\nHost: host\r\n\r\n`;
const post = (target: string, headers: string, body: string) =>
  `POST ${target} HTTP/1.1\r\nHost: host\r\nConnection: close\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n${body}`;
const upgrading = (to: string) =>
  `GET /a HTTP/1.1\r\nHost: host\r\nConnection: Upgrade, close\r\nUpgrade: ${to}\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const addressHeaders = (n: number) =>
  ['X-Forwarded-For', 'X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Client-IP']
    .map((name) => `${name}: 192.0.2.${n}\r\n`)
    .join('') + `Forwarded: for=192.0.2.${n}\r\n`;

/** What the nth connection sends. */
type Bytes = (n: number) => string;

const reachHandlers: [what: string, bytes: Bytes][] = [
  ['one connection each', () => get('/a')],
  ['pipelined', () => keptAlive('/a').repeat(9) + get('/a')],
  ['HTTP/1.0', () => get('/a', '', '1.0')],
  ['another Host each', (n) => `GET /a HTTP/1.1\r\nHost: h${n}\r\nConnection: close\r\n\r\n`],
  ['two Hosts', (n) => get('/a', `Host: h${n}\r\n`)],
  ['an absolute target', (n) => get(`http://h${n}.example/a`)],
  ['spellings of the path', (n) => get(['/a', '/A', '/a/', '/A/', '/a?x', '/a?'][n % 6]!)],
  ['another query each', (n) => get(`/a?${'q'.repeat(n * 400)}`)],
  ['HEAD and GET', (n) => (n % 2 ? get('/a') : get('/a').replace('GET', 'HEAD'))],
  ['every method', (n) => get('/any').replace('GET', METHODS[n % METHODS.length]!)],
  ['a method to put in its place', () => get('/a', 'X-HTTP-Method-Override: DELETE\r\n')],
  ['another parameter each', (n) => get(`/items/${['__proto__', '%00', '..;', n][n % 4]}`)],
  ['headers that name an address', (n) => get('/a', addressHeaders(n))],
  [
    'a chunked body',
    () => post('/posted', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
  ],
  [
    'a body that waits',
    () => post('/posted', 'Content-Length: 2\r\nExpect: 100-continue\r\n', '{}'),
  ],
  ['an upgrade to a WebSocket', () => upgrading('websocket')],
  ['an upgrade to HTTP/2', () => upgrading('h2c')],
  ['events', () => get('/events', 'Accept: text/event-stream\r\n', '1.0')],
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'];

const reachNone: [what: string, bytes: Bytes][] = [
  ['an unknown path', (n) => get(`/nothing/${n}`)],
  ['dots', () => get('/./a')],
  ['dots that climb', () => get('/b/../a')],
  ['two slashes', () => get('//a')],
  ['a matrix parameter', (n) => get(`/a;x=${n}`)],
  ['a backslash', () => get('/\\a')],
  ['another method', () => get('/a').replace('GET', 'PROPFIND')],
  ['OPTIONS', () => get('/a').replace('GET', 'OPTIONS')],
  ['a body that is no JSON', () => post('/posted', 'Content-Length: 1\r\n', '{')],
];

describe.each(platforms)(`${CONNECTIONS} connections at once on $name`, ({ name, start }) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  let apps = 0;
  async function flood(bytes: Bytes, tiers: object[] = []): Promise<number[]> {
    const redis = { redis: server.url, prefix: `${name}-${apps++}`, timeoutMs: 5_000 };
    const { port } = await start({
      controllers: [Target],
      rateLimit: { ...redis, tiers: tiers as [] },
    });
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, n) => sendRaw(port, bytes(n))),
    );
    return answers.flatMap(statusesOf);
  }
  const isAnswered = (status: number) => status !== 429;

  it.each(reachHandlers)(
    'reach a route as often as it allows (SEC-29): %s',
    async (_what, bytes) => {
      const statuses = await flood(bytes);

      expect(statuses.length).toBeGreaterThanOrEqual(CONNECTIONS);
      expect(statuses.filter(isAnswered)).toHaveLength(LIMIT);
      expect(handled).toBe(LIMIT);
    },
  );

  it.each([...reachHandlers, ...reachNone])(
    'pass the edge as often as it allows (SEC-30): %s',
    async (_what, bytes) => {
      const statuses = await flood(bytes, [{ name: 'front', policy: perHour, phase: 'edge' }]);

      expect(statuses.length).toBeGreaterThanOrEqual(CONNECTIONS);
      expect(statuses.filter(isAnswered)).toHaveLength(LIMIT);
    },
  );
});
