import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { UseGuards, type INestApplication, type Type } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import { io } from 'socket.io-client';
import type { ServerOptions } from 'socket.io';
import { WebSocket, type VerifyClientCallbackAsync } from 'ws';
import {
  LimiterService,
  RateLimit,
  RateLimitClient,
  RateLimitGuard,
  RateLimitResult,
  SkipRateLimit,
  type Client as Caller,
  type Decision,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { platforms, type AppParts } from '../support/platforms.js';
import { freePorts } from '../support/redis/free-ports.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const plan = (limit: number) => [{ name: 'plan', policy: perMinute(limit) }];

const handled: unknown[] = [];
beforeEach(() => void handled.splice(0));

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say') say(@RateLimitResult() decisions: Decision[]) {
    handled.push('say');
    return { event: 'said', data: decisions.map(({ remaining }) => remaining) };
  }
  @SubscribeMessage('own') @RateLimit(perMinute(1)) own() {
    return { event: 'owned', data: {} };
  }
  @SubscribeMessage('ping') @SkipRateLimit() ping() {
    return { event: 'pong', data: {} };
  }
  @SubscribeMessage('who') who(@RateLimitClient() { kind, id }: Caller) {
    return { event: 'is', data: `${kind} ${id}` };
  }
}

/** Hears what Chat hears, and has a limit of its own. */
@WebSocketGateway()
class Archive {
  @SubscribeMessage('say') @RateLimit(perMinute(1)) keep() {
    handled.push('keep');
  }
}

@WebSocketGateway()
@UseGuards(RateLimitGuard)
class GuardedChat extends Chat {}

interface Reply {
  readonly event: string;
  readonly data: any;
}

interface Connection {
  /** Answers the first thing that the server says. */
  readonly send: (event: string, data?: unknown) => Promise<Reply>;
  readonly post: (event: string, data?: unknown) => void;
  readonly close: () => Promise<void>;
}

interface From {
  readonly headers?: Record<string, string>;
  readonly localAddress?: string;
  /** Of socket.io. */
  readonly transports?: string[];
}

interface Adapter {
  readonly adapter: string;
  readonly of: (app: INestApplication) => WsAdapter | IoAdapter;
  /** Rejects with the HTTP status of a connection that is refused. */
  readonly open: (port: number, from?: From) => Promise<Connection>;
}

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

async function openWs(port: number, from: From = {}): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, from);
  closing.push(() => socket.terminate());
  await once(socket, 'open');
  const post: Connection['post'] = (event, data) => socket.send(JSON.stringify({ event, data }));
  return {
    post,
    async send(event, data) {
      const reply = once(socket, 'message');
      post(event, data);
      return JSON.parse(String((await reply)[0])) as Reply;
    },
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

async function openIo(
  port: number,
  { headers, localAddress, transports = ['websocket'] }: From = {},
): Promise<Connection> {
  const socket = io(`http://127.0.0.1:${port}`, {
    transports,
    extraHeaders: headers,
    forceNew: true,
    reconnection: false,
    ...({ localAddress } as object),
  });
  closing.push(() => socket.disconnect());
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', (error: Error & { description?: unknown }) => {
      const { message = error.message } = (error.description ?? {}) as { message?: string };
      reject(new Error(message, { cause: error }));
    });
  });
  const post: Connection['post'] = (event, data) =>
    data === undefined ? void socket.emit(event) : void socket.emit(event, data);
  return {
    post,
    send(event, data) {
      const reply = new Promise<Reply>((resolve) =>
        socket.onAny(function answer(name: string, said: unknown) {
          socket.offAny(answer);
          resolve({ event: name, data: said });
        }),
      );
      post(event, data);
      return reply;
    },
    async close() {
      socket.disconnect();
    },
  };
}

const adapters: Adapter[] = [
  { adapter: 'ws', of: (app) => new WsAdapter(app), open: openWs },
  { adapter: 'socket.io', of: (app) => new IoAdapter(app), open: openIo },
];

const cells = platforms.flatMap((platform) =>
  adapters.map((adapter) => ({ ...platform, ...adapter })),
);

const refusal = {
  code: 'RATE_LIMITED',
  status: 429,
  'violated-policies': ['plan'],
  retryAfterMs: 60_000,
};

describe.each(cells)('a gateway of $adapter on $name', ({ of, open, start }) => {
  async function serve(
    rateLimit: AppParts['rateLimit'],
    gateways: Type[] = [Chat],
    parts: AppParts = {},
  ) {
    const running = await start({
      ...parts,
      rateLimit,
      providers: gateways,
      prepare: (app) => void app.useWebSocketAdapter(of(app)),
    });
    return { ...running, connect: (from?: From) => open(running.port, from) };
  }

  describe('counts each message', () => {
    it('and answers a refusal with an exception (SEC-34)', async () => {
      const { connect } = await serve({ tiers: plan(2) });
      const { send } = await connect();

      expect(await send('say', {})).toEqual({ event: 'said', data: [1] });
      expect(await send('say', {})).toEqual({ event: 'said', data: [0] });
      expect(await send('say', {})).toEqual({
        event: 'exception',
        data: expect.objectContaining(refusal),
      });
      expect(await send('ping', {})).toEqual({ event: 'pong', data: {} });
    });

    it('or the app does not boot', async () => {
      await expect(serve({ tiers: plan(1), registerGuard: false }, [Chat])).rejects.toThrow(
        "'route' is never decided: RateLimitGuard reaches no such route",
      );
    });

    it.each([
      ['an object', {}],
      ['a list', [1]],
      ['a text', 'text'],
      ['a number', 1],
      ['nothing', undefined],
    ])('of %s (SEC-34)', async (_what, data) => {
      const { connect } = await serve({ tiers: plan(1) });
      const { send } = await connect();

      expect((await send('say', data)).event).toBe('said');
      expect((await send('say', data)).event).toBe('exception');
    });

    it('over all connections of a client (SEC-34)', async () => {
      const { connect } = await serve({ tiers: plan(2) });

      for (const expected of ['said', 'said', 'exception', 'exception']) {
        const { send, close } = await connect();
        expect((await send('say', {})).event).toBe(expected);
        await close();
      }
    });

    it('of each client on its own (SEC-34)', async () => {
      const { connect } = await serve({ tiers: plan(1) });
      const [one, other] = [await connect(), await connect({ localAddress: '127.0.0.2' })];

      expect((await one.send('say', {})).event).toBe('said');
      expect((await one.send('say', {})).event).toBe('exception');
      expect((await other.send('say', {})).event).toBe('said');
    });

    it.each([
      ['before', [Chat, Archive]],
      ['after', [Archive, Chat]],
    ])('for each handler that gets it: %s another', async (_when, gateways) => {
      const { connect } = await serve({ tiers: plan(9) }, gateways);
      const { send, post } = await connect();

      for (let n = 0; n < 3; n++) post('say', { n });
      await send('ping', {});

      await eventually('all are handled', async () => handled.length >= 4);
      expect(handled.filter((what) => what === 'keep')).toHaveLength(1);
      expect(handled.filter((what) => what === 'say')).toHaveLength(3);
    });
  });

  it('has no headers to set and no TypeError in any phase (user report 43, SEC-34)', async () => {
    const { connect } = await serve({
      headers: ['x-ratelimit', 'draft-8'],
      tiers: [
        { name: 'front', policy: perMinute(9), phase: 'edge' },
        { name: 'late', policy: perMinute(1), phase: 'handler' },
      ],
    });
    const { send } = await connect();

    expect(await send('say', {})).toEqual({ event: 'said', data: [0] });
    expect(await send('say', {})).toMatchObject({
      event: 'exception',
      data: { code: 'RATE_LIMITED', 'violated-policies': ['late'] },
    });
  });

  it('says so when it fails closed', async () => {
    const { connect } = await serve({
      tiers: [{ ...plan(1)[0]!, cost: () => NaN, onStoreFailure: 'closed' }],
    });

    expect(await (await connect()).send('say', {})).toMatchObject({
      event: 'exception',
      data: { code: 'RATE_LIMIT_UNAVAILABLE', status: 503 },
    });
  });

  it('takes a text for a body', async () => {
    const { connect } = await serve({ tiers: plan(0), body: () => 'slow down' });

    expect(await (await connect()).send('say', {})).toEqual({
      event: 'exception',
      data: { code: 'RATE_LIMITED', message: 'slow down' },
    });
  });

  // nest issue 8060
  describe('is reached by a guard', () => {
    it.each<[string, AppParts['rateLimit'], Type, number]>([
      ['of the whole app', {}, Chat, 1],
      ['of its class', { registerGuard: false }, GuardedChat, 1],
    ])('%s', async (_which, options, gateway, expected) => {
      const { connect } = await serve({ tiers: plan(1), ...options }, [gateway]);
      const { send } = await connect();

      for (let n = 0; n < 3; n++) await send('say', {});

      expect(handled).toHaveLength(expected);
    });

    it('or the app does not boot', async () => {
      await expect(serve({ tiers: plan(1), registerGuard: false }, [Chat])).rejects.toThrow(
        "'route' is never decided: RateLimitGuard reaches no such route",
      );
    });

    it.each([
      ['an object', {}],
      ['a text', 'text'],
      ['nothing', undefined],
    ])('of both, once for %s (SEC-36)', async (_what, data) => {
      const { connect } = await serve({ tiers: plan(3) }, [GuardedChat]);
      const { send } = await connect();

      for (let n = 0; n < 5; n++) await send('say', data);

      expect(handled).toHaveLength(3);
    });
  });

  describe('knows who asks', () => {
    const identity: Exclude<AppParts['rateLimit'], false | undefined>['identity'] = {
      apiKey: { verify: (key) => (key === 'k1' ? { id: 'acme' } : null) },
    };

    it.each([
      ['an API key of the handshake', { 'X-API-Key': 'k1' }, 'api-key acme'],
      ['a made-up key', { 'X-API-Key': 'no' }, 'ip 127.0.0.1'],
      ['no key', {}, 'ip 127.0.0.1'],
    ])('by %s (SEC-34)', async (_what, headers, expected) => {
      const { connect } = await serve({ identity, tiers: plan(9) });

      const { send } = await connect({ headers });

      expect(await send('who', {})).toEqual({ event: 'is', data: expected });
    });

    it('by what the app has put on the socket (SEC-34)', async () => {
      @WebSocketGateway()
      class Members extends Chat implements OnGatewayConnection {
        handleConnection(client: object) {
          Object.assign(client, { member: 'ann' });
        }
      }
      const { connect } = await serve(
        { identity: { user: ({ member }: { member?: string }) => member }, tiers: plan(9) },
        [Members],
      );

      expect((await (await connect()).send('who', {})).data).toBe('user ann');
    });

    it.each([
      ['a trusted proxy', 'loopback', 'ip 203.0.113.7'],
      ['a proxy of the wrong address', '10.0.0.0/8', 'ip 127.0.0.1'],
      ['nobody trusted', false, 'ip 127.0.0.1'],
    ])('behind %s (SEC-34)', async (_what, trustProxy, expected) => {
      const { connect } = await serve({ tiers: plan(9) }, [Chat], { trustProxy });

      const { send } = await connect({
        headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' },
      });

      expect((await send('who', {})).data).toBe(expected);
    });

    it('on a port of its own', async () => {
      const [port] = (await freePorts(1)) as [number];
      @WebSocketGateway(port)
      class Apart extends Chat implements OnGatewayConnection {
        handleConnection(client: { upgradeReq?: unknown }, request?: IncomingMessage) {
          client.upgradeReq = request;
        }
      }
      await serve({ identity, tiers: plan(9) }, [Apart]);

      const { send } = await open(port, { headers: { 'x-api-key': 'k1' } });

      expect((await send('who', {})).data).toBe('api-key acme');
    });
  });

  describe('a held message', () => {
    const queue = [{ name: 'queue', policy: 'leaky-bucket:60/1m,burst=30,maxDelay=1m' as const }];

    it('is handled when it is its turn, and not for a client that has gone', async () => {
      const { connect, clock } = await serve({ tiers: queue });
      const [leaving, staying] = [await connect(), await connect({ localAddress: '127.0.0.2' })];
      await leaving.send('say', {});
      await staying.send('say', {});
      for (let n = 0; n < 20; n++) leaving.post('say', { n });
      staying.post('say', {});
      const reply = staying.send('ping', {});
      expect(await reply).toEqual({ event: 'pong', data: {} });
      expect((await leaving.send('ping', {})).event).toBe('pong');
      expect(handled).toHaveLength(2);

      await leaving.close();
      // A whole exchange later the server has seen it too.
      await staying.send('ping', {});
      await staying.send('ping', {});
      const held = staying.send('own', {});
      clock.advance(60_000);

      expect((await held).event).toBe('said');
      expect(handled).toEqual(['say', 'say', 'say']);
    });
  });

  describe('connections', () => {
    const front = (limit: number, more: object = {}) => ({
      tiers: [{ name: 'front', policy: perMinute(limit), phase: 'edge' as const }],
      ...more,
    });

    it('are counted by the edge, which answers 429 (SEC-34)', async () => {
      let connected = 0;
      @WebSocketGateway()
      class Counting extends Chat implements OnGatewayConnection {
        handleConnection() {
          connected += 1;
        }
      }
      const { connect } = await serve(front(2), [Counting]);

      const { send, close } = await connect();
      for (let n = 0; n < 5; n++) expect((await send('say', {})).event).toBe('said');
      await close();
      await connect();

      await expect(connect()).rejects.toThrow('429');
      await expect(connect({ localAddress: '127.0.0.2' })).resolves.toBeDefined();
      expect(connected).toBe(3);
    });

    it('count together with requests (SEC-34)', async () => {
      const { connect, ask } = await serve(front(2));

      await connect();
      await ask('/');

      expect((await ask('/')).status).toBe(429);
      await expect(connect()).rejects.toThrow('429');
    });

    it('are counted for the client behind a trusted proxy (SEC-34)', async () => {
      const { connect } = await serve(front(1), [Chat], { trustProxy: 'loopback' });
      const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

      await connect(from('203.0.113.7'));
      await connect(from('203.0.113.8'));

      await expect(connect(from('203.0.113.7'))).rejects.toThrow('429');
    });

    it('of exempt addresses are not counted', async () => {
      const { connect } = await serve(front(0, { exempt: { ips: ['127.0.0.1'] } }));

      await expect(connect()).resolves.toBeDefined();
    });

    it('are held by a leaky bucket, and one that has left breaks nothing (SEC-34)', async () => {
      const { connect, port, clock, app } = await serve({
        tiers: [{ name: 'front', policy: 'leaky-bucket:1/1m,burst=9,maxDelay=1h', phase: 'edge' }],
      });
      const connections = promisify<number>((done) => app.getHttpServer().getConnections(done));
      const areOpen = (count: number) => async () => (await connections()) === count;
      await connect();
      const leaving = new WebSocket(`ws://127.0.0.1:${port}`);
      const left = once(leaving, 'error');
      await eventually('one is held', areOpen(2));
      leaving.terminate();
      await left;
      let isOpen = false;
      const staying = connect().then((connection) => {
        isOpen = true;
        return connection;
      });
      await eventually('another is held', areOpen(3));
      expect(isOpen).toBe(false);

      clock.advance(120_000);

      expect((await (await staying).send('ping')).event).toBe('pong');
      await eventually('the first is gone', areOpen(2));
    });
  });
});

describe.each(platforms)('connections that no edge sees on $name (SEC-34)', ({ start }) => {
  const front = { name: 'front', policy: perMinute(1), phase: 'edge' as const };
  const connections = { name: 'connections', policy: perMinute(1) };

  /** Of docs/transports.md. */
  class LimitedIoAdapter extends IoAdapter {
    private readonly limiter: LimiterService;

    constructor(app: INestApplication) {
      super(app);
      this.limiter = app.get(LimiterService);
    }

    override createIOServer(port: number, options?: ServerOptions) {
      const allowRequest: ServerOptions['allowRequest'] = ({ socket }, allow) => {
        void this.limiter
          .consume(connections, socket.remoteAddress!)
          .then(({ allowed }) => allow(allowed ? null : 'Too many connections', allowed));
      };
      return super.createIOServer(port, { ...options!, allowRequest });
    }
  }

  /** Of docs/transports.md. */
  class LimitedWsAdapter extends WsAdapter {
    private readonly limiter: LimiterService;

    constructor(app: INestApplication) {
      super(app);
      this.limiter = app.get(LimiterService);
    }

    override create(port: number, options: object) {
      const verifyClient: VerifyClientCallbackAsync = ({ req }, allow) => {
        void this.limiter
          .consume(connections, req.socket.remoteAddress!)
          .then(({ allowed }) => allow(allowed, 429, 'Too Many Requests'));
      };
      return super.create(port, { ...options, verifyClient }) as unknown;
    }
  }

  it('are those that socket.io opens by polling', async () => {
    const { port } = await start({
      rateLimit: { tiers: [front] },
      providers: [Chat],
      prepare: (app) => void app.useWebSocketAdapter(new IoAdapter(app)),
    });

    for (let n = 0; n < 3; n++) {
      const { send } = await openIo(port, { transports: ['polling'] });
      expect((await send('say')).event).toBe('said');
    }
  });

  it.each([
    ['polling', 'xhr poll error'],
    ['websocket', 'Unexpected server response: 400'],
  ])('unless allowRequest asks for those of %s', async (transport, message) => {
    const { port } = await start({
      providers: [Chat],
      prepare: (app) => void app.useWebSocketAdapter(new LimitedIoAdapter(app)),
    });

    await openIo(port, { transports: [transport] });

    await expect(openIo(port, { transports: [transport] })).rejects.toThrow(message);
  });

  it('and those of a gateway with a port of its own, unless verifyClient asks', async () => {
    const [apart, limited] = (await freePorts(2)) as [number, number];
    @WebSocketGateway(apart)
    class Apart extends Chat {}
    const parts = (gateway: Type, adapter: (app: INestApplication) => WsAdapter): AppParts => ({
      rateLimit: { tiers: [front] },
      providers: [gateway],
      prepare: (app) => void app.useWebSocketAdapter(adapter(app)),
    });
    await start(parts(Apart, (app) => new WsAdapter(app)));
    for (let n = 0; n < 3; n++) await openWs(apart);

    @WebSocketGateway(limited)
    class Limited extends Chat {}
    await start(parts(Limited, (app) => new LimitedWsAdapter(app)));
    await openWs(limited);

    await expect(openWs(limited)).rejects.toThrow('429');
  });
});
