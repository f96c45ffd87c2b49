import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import {
  Body,
  Controller,
  Get,
  Module,
  Post,
  type ExecutionContext,
  type MiddlewareConsumer,
  type NestApplicationOptions,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimitModule, type TierOptions } from '../../src/index.js';
import { ManualClock, expectRefusal } from '../../src/testing/index.js';
import { eventually } from '../support/eventually.js';
import { START_MS, platforms } from '../support/platforms.js';

const BODY_BYTES = 10_000_000;
const CHUNK = Buffer.alloc(65_536, ' ');
/** What the kernel and one read of Node may take before the refusal is out. */
const TAKEN_BYTES = 500_000;
const ORIGIN = 'https://app.example';

const front = (limit: number, more: Partial<TierOptions> = {}): TierOptions => ({
  name: 'front',
  phase: 'edge',
  policy: `fixed-window:${limit}/1m`,
  ...more,
});

const ran: string[] = [];
const open: NestExpressApplication[] = [];
beforeEach(() => ran.splice(0));
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

@Controller()
class Uploads {
  @Get('find') find() {
    ran.push('handler');
  }
  @Post('save') save(@Body() body: { text: string }) {
    ran.push(`saved ${body.text.length}`);
  }
}

interface Created {
  readonly tiers: TierOptions[];
  readonly options?: NestApplicationOptions;
  readonly adapter?: ExpressAdapter | FastifyAdapter;
  /** As a main.ts does, between `create` and `listen`. */
  readonly main?: (app: NestExpressApplication) => void;
}

/** An app as `NestFactory` makes it, which readies the platform before any provider is made. */
async function created(name: string, { tiers, options, adapter, main }: Created) {
  const identity = { user: (request: { user?: string }) => request.user };
  @Module({
    imports: [RateLimitModule.forRoot({ clock: new ManualClock(START_MS), tiers, identity })],
    controllers: [Uploads],
    providers: [{ provide: APP_GUARD, useValue: { canActivate: authenticate } }],
  })
  class AppModule {
    configure(consumer: MiddlewareConsumer) {
      consumer.apply(passing('module middleware')).forRoutes('*path');
    }
  }
  const platform = adapter ?? (name === 'express' ? new ExpressAdapter() : new FastifyAdapter());
  const app = await NestFactory.create<NestExpressApplication>(AppModule, platform, {
    logger: false,
    ...options,
  });
  open.push(app);
  main?.(app);
  await app.listen(0);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  return { app, port, ask };
}

/** Puts a user on the platform's request, as an auth guard does. */
function authenticate(context: ExecutionContext): boolean {
  const request = context
    .switchToHttp()
    .getRequest<{ headers: Record<string, string>; user?: string }>();
  request.user = request.headers['x-user'];
  return true;
}

function passing(name: string) {
  return (_request: unknown, _response: unknown, next: () => void) => {
    ran.push(name);
    next();
  };
}

/** What one raw connection was answered, how it ended, and how much of what it sent was taken. */
interface Exchange {
  readonly answer: string;
  readonly sent: number;
  readonly taken: number;
}

async function upload(
  { app, port }: { readonly app: NestExpressApplication; readonly port: number },
  start: string,
  bodyBytes: number,
): Promise<Exchange> {
  let taker: Socket | undefined;
  app.getHttpServer().once('connection', (socket: Socket) => (taker = socket));
  const client = connect(port, '127.0.0.1');
  let answer = '';
  let sent = 0;
  client.setEncoding('latin1').on('data', (text) => (answer += String(text)));
  // Its pipe breaks when the server closes on it.
  client.on('error', () => undefined);
  client.write(start);
  const closed = new Promise((resolve) => client.on('close', resolve));
  const more = (): void => {
    while (sent < bodyBytes && !client.destroyed) {
      sent += CHUNK.length;
      if (!client.write(CHUNK)) return;
    }
  };
  client.on('drain', more);
  more();
  await closed;
  return { answer, sent, taken: taker!.bytesRead };
}

const head = (...headers: string[]) =>
  ['POST /save HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...headers, '', ''].join(
    '\r\n',
  );

const preflight: RequestInit = {
  method: 'OPTIONS',
  headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
};
const fromBrowser: RequestInit = { headers: { origin: ORIGIN } };

describe.each(platforms)('the edge on $name', ({ name, start }) => {
  describe('a body', () => {
    it.each([
      ['of a known length', [`Content-Length: ${BODY_BYTES}`], BODY_BYTES],
      ['in chunks', ['Transfer-Encoding: chunked', '', BODY_BYTES.toString(16)], BODY_BYTES],
      ['that is not sent', [`Content-Length: ${BODY_BYTES}`], 0],
    ])('%s, of 10 MB, is not read of a refused client', async (_how, headers, bytes) => {
      const running = await created(name, { tiers: [front(1)] });
      await running.ask('/find');

      const { answer, sent, taken } = await upload(running, head(...headers), bytes);

      expect(answer).toMatch(/^HTTP\/1\.1 429 /);
      expect(answer).toMatch(/\r\nconnection: close\r\n/i);
      expect(answer).toContain('"violated-policies":["front"]');
      expect(taken).toBeLessThan(TAKEN_BYTES);
      expect(sent).toBeLessThan(Math.max(bytes, 1));
      expect(ran).not.toContain('saved');
    });

    it('is read of a client that passes', async () => {
      const { ask } = await created(name, { tiers: [front(1)] });
      const body = JSON.stringify({ text: 'x'.repeat(10_000) });
      const headers = { 'content-type': 'application/json' };

      expect((await ask('/save', { method: 'POST', headers, body })).status).toBe(201);
      expect(ran).toContain('saved 10000');
    });

    it('is not there to be left: the connection of a refused client carries on', async () => {
      const running = await created(name, { tiers: [front(1)] });
      await running.ask('/find');
      const client = connect(running.port, '127.0.0.1');
      let answer = '';
      client.setEncoding('latin1').on('data', (text) => (answer += String(text)));

      client.write('GET /find HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually('one answer', async () => answer.split('429').length > 1);
      client.write('GET /find HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await new Promise((resolve) => client.on('close', resolve));

      expect(answer.match(/HTTP\/1\.1 429 /g)).toHaveLength(2);
    });
  });

  describe('comes before', () => {
    it('what the app mounts, by hand or for its modules', async () => {
      const { ask } = await created(name, {
        tiers: [front(1)],
        main: (app) => app.use(passing('app.use')),
      });

      await ask('/find');
      expect(ran.splice(0)).toEqual(['app.use', 'module middleware', 'handler']);

      expect((await ask('/find')).status).toBe(429);
      expect(ran).toEqual([]);
    });

    it('the check of a body, and of a route', async () => {
      const { ask } = await created(name, { tiers: [front(3)] });
      const headers = { 'content-type': 'application/json' };

      expect((await ask('/save', { method: 'POST', headers, body: '{"a":' })).status).toBe(400);
      expect((await ask('/nope')).status).toBe(404);
      expect((await ask('/find', { method: 'OPTIONS' })).status).toBe(404);
      expect((await ask('/nope')).status).toBe(429);
    });
  });

  it.each(['guard', 'handler'] as const)(
    'is needed for what reaches no route: the %s phase does not count it (SEC-30)',
    async (phase) => {
      const { ask } = await created(name, { tiers: [front(1, { phase })] });
      const headers = { 'content-type': 'application/json' };

      for (let n = 0; n < 3; n++) {
        expect((await ask('/nope')).status).toBe(404);
        expect((await ask('/find', { method: 'OPTIONS' })).status).toBe(404);
        expect((await ask('/save', { method: 'POST', headers, body: '{' })).status).toBe(400);
      }
      expect((await ask('/find')).status).toBe(200);
    },
  );

  describe('and CORS', () => {
    const cors = { origin: ORIGIN, exposedHeaders: ['Retry-After'] };
    const ways: [string, Omit<Created, 'tiers'>][] = [
      ['app.enableCors()', { main: (app) => app.enableCors(cors) }],
      ['the cors option', { options: { cors } }],
      [
        'a function that decides',
        {
          main: (app) =>
            app.enableCors((_request: unknown, done: (error: null, decided: object) => void) =>
              done(null, cors),
            ),
        },
      ],
    ];

    it.each(ways)('%s: a browser may read a refusal', async (_way, more) => {
      const { ask } = await created(name, { tiers: [front(1)], ...more });
      expect((await ask('/find', fromBrowser)).status).toBe(200);

      const { status, headers } = await ask('/find', fromBrowser);

      expect(status).toBe(429);
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(headers.get('access-control-expose-headers')).toBe('Retry-After');
    });

    it.each(ways)('%s: preflights are answered, and not counted', async (_way, more) => {
      const { ask } = await created(name, { tiers: [front(1)], ...more });
      for (let n = 0; n < 3; n++) expect((await ask('/save', preflight)).status).toBe(204);

      expect((await ask('/find', fromBrowser)).status).toBe(200);
      expect((await ask('/find', fromBrowser)).status).toBe(429);
      expect((await ask('/save', preflight)).status).toBe(204);
    });

    it('mounted in a test is the same', async () => {
      const { ask } = await start({
        rateLimit: { tiers: [front(1)] },
        controllers: [Uploads],
        prepare: (app) => app.enableCors(cors),
      });
      const asked = preflight as { method: string; headers: Record<string, string> };
      for (let n = 0; n < 3; n++) expect((await ask('/save', asked)).status).toBe(204);
      await ask('/find');

      const { headers } = await ask('/find', { headers: { origin: ORIGIN } });

      expect(headers['access-control-allow-origin']).toBe(ORIGIN);
    });

    it('that fails is answered by the app, and nothing is counted', async () => {
      const { ask } = await created(name, {
        tiers: [front(1)],
        main: (app) =>
          app.enableCors((_request: unknown, done: (error: Error, decided: object) => void) =>
            done(new Error('no such tenant'), {}),
          ),
      });

      for (let n = 0; n < 3; n++) expect((await ask('/find', fromBrowser)).status).toBe(500);
      expect(ran).toEqual([]);
    });

    it('is not there: preflights are counted, unless skip says otherwise (SEC-30)', async () => {
      const counted = await created(name, { tiers: [front(1)] });
      expect((await counted.ask('/find', preflight)).status).toBe(404);
      expect((await counted.ask('/find', preflight)).status).toBe(429);

      const skip: TierOptions['skip'] = ({ request }) => request.method === 'OPTIONS';
      const skipped = await created(name, { tiers: [front(1, { skip })] });
      for (let n = 0; n < 3; n++) {
        expect((await skipped.ask('/find', preflight)).status).toBe(404);
      }
      expect((await skipped.ask('/find')).status).toBe(200);
    });
  });

  it('does not keep later phases from knowing the user', async () => {
    const { ask } = await created(name, {
      tiers: [front(9), { name: 'plan', by: 'user', policy: 'fixed-window:1/1m' }],
    });
    const as = (user: string) => ask('/find', { headers: { 'x-user': user } });
    await as('ann');

    expect((await as('ben')).status).toBe(200);
    expect((await as('ann')).status).toBe(429);
  });

  it("gives resolvers the request with the client's address", async () => {
    const seen: unknown[] = [];
    const by: TierOptions['by'] = ({ request, client, execution }) => {
      const { method, url, originalUrl, ip, headers, query } = request;
      seen.push([method, url, originalUrl, ip, headers['x-who'], { ...query }, client, execution]);
      return 'all';
    };
    const { ask } = await created(name, { tiers: [front(1, { by })] });

    await ask('/find?a=1', { headers: { 'x-who': 'ann' } });

    const client = { kind: 'ip', id: '127.0.0.1' };
    const [[, , , ip]] = seen as [unknown[]];
    expect(String(ip)).toMatch(/127\.0\.0\.1$/);
    expect(seen).toEqual([
      ['GET', '/find?a=1', '/find?a=1', ip, 'ann', { a: '1' }, client, undefined],
    ]);
  });
});

describe('the edge on Express', () => {
  it('counts static files (SEC-30)', async () => {
    const { ask } = await created('express', {
      tiers: [front(1)],
      main: (app) => app.useStaticAssets(__dirname),
    });

    expect((await ask('/edge.spec.ts')).status).toBe(200);
    expect((await ask('/edge.spec.ts')).status).toBe(429);
  });
});

describe('the edge on Fastify', () => {
  it('works without middleware (skipMiddie)', async () => {
    const adapter = new FastifyAdapter({ skipMiddie: true });
    @Module({
      imports: [RateLimitModule.forRoot({ clock: new ManualClock(START_MS), tiers: [front(1)] })],
      controllers: [Uploads],
    })
    class AppModule {}
    const app = await NestFactory.create<NestExpressApplication>(AppModule, adapter as never, {
      logger: false,
    });
    open.push(app);
    await app.listen(0);
    const { port } = app.getHttpServer().address() as AddressInfo;

    expect((await fetch(`http://127.0.0.1:${port}/nope`)).status).toBe(404);
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/find`);
    expectRefusal({ status, headers }, { retryAfter: 60 });
  });

  it('over HTTP/2 ends the stream of a refused body, and not the session', async () => {
    const adapter = new FastifyAdapter({ http2: true } as never);
    const { app, port } = await created('fastify', { tiers: [front(1)], adapter });
    const taken: Socket[] = [];
    app.getHttpServer().on('connection', (socket: Socket) => taken.push(socket));
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    expect(await exchange2(session, '/nope')).toBe(404);

    expect(await exchange2(session, '/save', BODY_BYTES)).toBe(429);
    expect(await exchange2(session, '/find')).toBe(429);

    expect(taken).toHaveLength(1);
    expect(taken[0]!.bytesRead).toBeLessThan(TAKEN_BYTES);
    session.destroy();
  });
});

function exchange2(session: ClientHttp2Session, path: string, bytes = 0): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const post = { ':method': 'POST', 'content-type': 'application/json', 'content-length': bytes };
    const stream = session.request({ ':path': path, ...(bytes > 0 && post) });
    stream.on('response', ({ ':status': status }) => resolve(status));
    stream.on('error', reject).resume();
    if (bytes > 0) stream.end(Buffer.alloc(bytes, ' '));
  });
}
