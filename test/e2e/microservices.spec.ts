import { once } from 'node:events';
import { createConnection, type AddressInfo, type Server as NetServer } from 'node:net';
import { promisify } from 'node:util';
import { Controller, Get, UseGuards, type INestMicroservice, type Type } from '@nestjs/common';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Server,
  Transport,
  type ClientProxy,
  type CustomTransportStrategy,
  type MicroserviceOptions,
  type RedisContext,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { lastValueFrom } from 'rxjs';
import {
  RateLimit,
  RateLimitClient,
  RateLimitGuard,
  RateLimitModule,
  RateLimitResult,
  SkipRateLimit,
  type Client as Caller,
  type Decision,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing/index.js';
import { eventually } from '../support/eventually.js';
import { platforms, START_MS, type RateLimit as Options } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const plan = (limit: number) => [{ name: 'plan', policy: perMinute(limit) }];

const handled: unknown[] = [];
beforeEach(() => void handled.splice(0));

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

@Controller()
class Sums {
  @MessagePattern('sum') sum(numbers: number[]) {
    return handled.push('sum') && numbers.reduce((a, b) => a + b, 0);
  }
  @MessagePattern('own') @RateLimit(perMinute(1)) own() {
    return 'own';
  }
  @MessagePattern('remaining') remaining(@RateLimitResult() decisions: Decision[]) {
    return decisions.map(({ remaining }) => remaining);
  }
  @MessagePattern('who') who(@RateLimitClient() { kind, id }: Caller) {
    return `${kind} ${id}`;
  }
  @MessagePattern('ping') @SkipRateLimit() ping() {
    return 'pong';
  }
  @EventPattern('done') done(_data: unknown) {
    handled.push('done');
  }
  @Get('sum') get() {
    return 'sum';
  }
}

/** Hears what Sums hears, and has a limit of its own. */
@Controller()
class Archive {
  @EventPattern('done') @RateLimit(perMinute(1)) keep(_data: unknown) {
    handled.push('kept');
  }
}

@Controller()
@UseGuards(RateLimitGuard)
class GuardedSums extends Sums {}

interface Running {
  readonly clock: ManualClock;
  readonly log: readonly { readonly text: string }[];
  /** Of TCP. */
  readonly port: number;
  /** Open to the server of TCP. */
  readonly connections: () => Promise<number>;
  /** Makes a client of its own, which attaches `metadata` to what it sends. */
  readonly connect: (metadata?: Record<string, unknown>) => Sender;
}

interface Sender {
  readonly send: (pattern: string, data?: unknown) => Promise<unknown>;
  readonly emit: (pattern: string, data?: unknown) => Promise<unknown>;
  readonly close: () => unknown;
}

type Serve = (
  options: Options,
  transport?: MicroserviceOptions,
  controllers?: Type[],
) => Promise<Running>;

const TCP: MicroserviceOptions = {
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port: 0 },
};

/** What a test needs of a service that listens. */
function reached(
  service: INestMicroservice,
  transport: MicroserviceOptions,
): Pick<Running, 'port' | 'connections' | 'connect'> {
  const isTcp = 'transport' in transport && transport.transport === Transport.TCP;
  const server = isTcp ? service.unwrap<NetServer>() : undefined;
  const port = server === undefined ? 0 : (server.address() as AddressInfo).port;
  return {
    port,
    connections: promisify<number>((done) => server?.getConnections(done)),
    connect(metadata) {
      const { options } = transport as { options: object };
      const client: ClientProxy = ClientProxyFactory.create({
        ...(transport as object),
        options: { ...options, ...(isTcp && { port }) },
      });
      if (metadata !== undefined) {
        client.setOnDispatchHook((packet) => Object.assign(packet, { metadata }));
      }
      const close = async (): Promise<void> => void (await client.close());
      closing.push(close);
      return {
        close,
        send: (pattern, data = []) => lastValueFrom(client.send<unknown>(pattern, data)),
        emit: (pattern, data = []) => lastValueFrom(client.emit<unknown>(pattern, data)),
      };
    },
  };
}

const serveAlone: Serve = async (options, transport = TCP, controllers = [Sums]) => {
  const clock = new ManualClock(START_MS);
  const log: { text: string }[] = [];
  const keep = (message: unknown) => void log.push({ text: String(message) });
  const module = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ clock, ...options })],
    controllers,
  })
    .setLogger({ log: () => undefined, error: keep, warn: keep })
    .compile();
  const service = module.createNestMicroservice(transport);
  closing.push(() => service.close());
  await service.listen();
  return { clock, log, ...reached(service, transport) };
};

const hosts: { readonly host: string; readonly serve: Serve }[] = [
  { host: 'a microservice', serve: serveAlone },
  ...platforms.map(({ name, start }) => ({
    host: `a hybrid app on ${name}`,
    serve: (async (rateLimit, transport = TCP, controllers = [Sums]) => {
      const { app, ...running } = await start({ rateLimit, controllers });
      const service = app.connectMicroservice(transport, { inheritAppConfig: true });
      await app.startAllMicroservices();
      return { ...running, ...reached(service, transport) };
    }) as Serve,
  })),
];

const refusal = {
  code: 'RATE_LIMITED',
  status: 429,
  'violated-policies': ['plan'],
  retryAfterMs: 60_000,
};

describe.each(hosts)('TCP in $host', ({ serve }) => {
  it('counts each message, and answers a refusal with an RpcException (SEC-35)', async () => {
    const { connect } = await serve({ tiers: plan(2) });
    const { send } = connect();

    expect(await send('sum', [1, 2])).toBe(3);
    expect(await send('sum', [1, 2])).toBe(3);
    await expect(send('sum', [1, 2])).rejects.toMatchObject(refusal);
    expect(handled).toHaveLength(2);
  });

  it('says so when it fails closed', async () => {
    const { connect } = await serve({
      tiers: [{ ...plan(1)[0]!, cost: () => NaN, onStoreFailure: 'closed' }],
    });

    await expect(connect().send('sum')).rejects.toMatchObject({
      code: 'RATE_LIMIT_UNAVAILABLE',
      status: 503,
    });
  });

  it('takes a text for a body', async () => {
    const { connect } = await serve({ tiers: plan(0), body: () => 'slow down' });

    await expect(connect().send('sum')).rejects.toEqual({
      code: 'RATE_LIMITED',
      message: 'slow down',
    });
  });

  it('counts over all connections of a client (SEC-35)', async () => {
    const { connect } = await serve({ tiers: plan(1) });

    await connect().send('sum');

    await expect(connect().send('sum')).rejects.toMatchObject(refusal);
  });

  it('counts each client on its own (SEC-35)', async () => {
    const { connect, port } = await serve({ tiers: plan(1) });
    await connect().send('sum');
    const packet = JSON.stringify({ pattern: 'sum', data: [4], id: '1' });

    // Nest's own client does not choose the address that it sends from.
    const other = createConnection({ host: '127.0.0.1', port, localAddress: '127.0.0.2' });
    closing.push(() => other.destroy());
    other.write(`${packet.length}#${packet}`);

    const [answer] = (await once(other, 'data')) as [Buffer];
    expect(String(answer)).toContain('"response":4');
  });

  it('counts each pattern on its own where the tier is its own', async () => {
    const { connect } = await serve({});
    const { send } = connect();

    expect(await send('own')).toBe('own');
    await expect(send('own')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await send('sum', [4])).toBe(4);
  });

  it.each([
    ['an object', {}],
    ['a text', 'text'],
    ['nothing', undefined],
  ])('tells a handler its decisions, of all phases, for %s', async (_what, data) => {
    const { connect } = await serve({
      tiers: [...plan(9), { name: 'late', policy: perMinute(5), phase: 'handler' }],
    });
    const { send } = connect();

    expect(await send('remaining', data)).toEqual([8, 4]);
    expect(await send('remaining', data)).toEqual([7, 3]);
  });

  it.each([
    ['an object', {}],
    ['a text', 'text'],
    ['nothing', undefined],
  ])('counts once where two guards reach it, for %s (SEC-36)', async (_what, data) => {
    const { connect } = await serve({ tiers: plan(9) }, TCP, [GuardedSums]);
    const { send } = connect();

    expect(await send('remaining', data)).toEqual([8]);
    expect(await send('remaining', data)).toEqual([7]);
  });

  it('drops events over the limit, and goes on (SEC-35)', async () => {
    const { connect } = await serve({ tiers: plan(3) });
    const { send, emit } = connect();

    for (let n = 0; n < 5; n++) await emit('done', { n });

    await expect(send('sum')).rejects.toMatchObject(refusal);
    expect(handled).toEqual(['done', 'done', 'done']);
  });

  it('counts an event for each handler that gets it', async () => {
    const { connect } = await serve({ tiers: plan(9) }, TCP, [Sums, Archive]);
    const { emit } = connect();

    for (let n = 0; n < 3; n++) await emit('done', { n });

    await eventually('all are handled', async () => handled.length >= 4);
    expect(handled.filter((what) => what === 'kept')).toHaveLength(1);
    expect(handled.filter((what) => what === 'done')).toHaveLength(3);
  });

  it.each<[string, Options['identity'], Record<string, unknown> | undefined, unknown, string]>([
    ['an address', {}, undefined, [], 'ip 127.0.0.1'],
    [
      'an API key of its metadata',
      { apiKey: { verify: (key) => (key === 'k1' ? { id: 'acme' } : null) } },
      { 'X-API-Key': 'k1' },
      [],
      'api-key acme',
    ],
    [
      'a made-up key',
      { apiKey: { verify: () => null } },
      { 'x-api-key': 'no' },
      [],
      'ip 127.0.0.1',
    ],
    [
      'a key that is no text',
      { apiKey: { verify: () => ({ id: 'acme' }) } },
      { 'x-api-key': ['k1'] },
      [],
      'ip 127.0.0.1',
    ],
    [
      'a user of its data',
      { user: ({ data }: { data: { user: string } }) => data.user },
      undefined,
      { user: 'ann' },
      'user ann',
    ],
    ['metadata that is a text', {}, 'text' as never, [], 'ip 127.0.0.1'],
    // Whoever sends a message writes it, and no proxy stands between.
    ['no address that it names', {}, { 'x-forwarded-for': '203.0.113.7' }, [], 'ip 127.0.0.1'],
  ])('knows who asks: %s (SEC-35)', async (_what, identity, metadata, data, expected) => {
    const { connect } = await serve({ identity, tiers: plan(9) });

    expect(await connect(metadata).send('who', data)).toBe(expected);
  });

  it('holds a message until its turn, and not for a client that has gone', async () => {
    const { connect, clock, connections } = await serve({
      tiers: [{ name: 'queue', policy: 'leaky-bucket:60/1m,burst=30,maxDelay=1m', by: 'global' }],
    });
    const [leaving, staying] = [connect(), connect()];
    await staying.send('sum');
    await leaving.emit('done');
    expect(await leaving.send('ping')).toBe('pong');
    await leaving.close();
    await eventually('it is gone', async () => (await connections()) === 1);
    const held = staying.send('sum', [4]);
    expect(await staying.send('ping')).toBe('pong');
    expect(handled).toEqual(['sum']);

    clock.advance(60_000);

    expect(await held).toBe(4);
    expect(handled).toEqual(['sum', 'sum']);
  });
});

describe.each(platforms)('a hybrid app on $name', ({ start }) => {
  it.each<[string, boolean, Type, number]>([
    ['that inherits the guards of its app', true, Sums, 1],
    ['of its own', false, Sums, 3],
    ['of its own, with the guard on a class', false, GuardedSums, 1],
  ])(
    'counts the messages of a microservice %s (SEC-35)',
    async (_what, inheritAppConfig, type, n) => {
      const { app } = await start({ rateLimit: { tiers: plan(1) }, controllers: [type] });
      const service = app.connectMicroservice(TCP, { inheritAppConfig });
      await app.startAllMicroservices();
      const { send } = reached(service, TCP).connect();

      for (let sent = 0; sent < 3; sent++) await send('sum').catch(() => undefined);

      expect(handled).toHaveLength(n);
    },
  );

  it('counts a client once over HTTP and TCP together', async () => {
    const { app, ask } = await start({ rateLimit: { tiers: plan(2) }, controllers: [Sums] });
    const service = app.connectMicroservice(TCP, { inheritAppConfig: true });
    await app.startAllMicroservices();
    const { send } = reached(service, TCP).connect();

    await send('sum');
    expect((await ask('/sum')).status).toBe(200);

    expect((await ask('/sum')).status).toBe(429);
    await expect(send('sum')).rejects.toMatchObject(refusal);
  });
});

describe.each(hosts)('Redis in $host', ({ serve }) => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await RedisServer.start()));
  afterAll(() => redis.stop());
  const transport = (): MicroserviceOptions => ({
    transport: Transport.REDIS,
    options: { host: redis.host, port: redis.port },
  });

  it('counts all together who have no address, and warns of it once (SEC-35)', async () => {
    const { connect, log } = await serve({ tiers: plan(2) }, transport());

    expect(await connect().send('sum', [1, 2])).toBe(3);
    expect(await connect().send('sum', [1, 2])).toBe(3);
    await expect(connect().send('sum', [1, 2])).rejects.toMatchObject(refusal);
    expect(log.filter(({ text }) => text.includes('without an address'))).toHaveLength(1);
  });

  it.each<[string, Options['identity'], (id: string) => [object?, unknown?]]>([
    [
      'a user of its data',
      { user: ({ data }: { data: { user: string } }) => data.user },
      (user) => [undefined, { user }],
    ],
    [
      'a key of its metadata',
      { apiKey: { verify: (key) => ({ id: key }) } },
      (key) => [{ 'x-api-key': key }, []],
    ],
    [
      'a user of its context',
      {
        user: ({ context }: { context: RedisContext }) =>
          (context.getMetadata() as { from: string }).from,
      },
      (from) => [{ from }, []],
    ],
  ])('tells senders apart by %s (SEC-35)', async (_what, identity, sentBy) => {
    const { connect, log } = await serve({ identity, tiers: plan(1) }, transport());
    const ask = (id: string) => {
      const [metadata, data] = sentBy(id);
      return connect(metadata as Record<string, unknown>).send('remaining', data);
    };

    expect(await ask('ann')).toEqual([0]);
    expect(await ask('bob')).toEqual([0]);
    await expect(ask('ann')).rejects.toMatchObject(refusal);
    expect(log.filter(({ text }) => text.includes('without an address'))).toEqual([]);
  });

  it('drops events over the limit, and goes on (SEC-35)', async () => {
    const { connect } = await serve({ tiers: plan(2) }, transport());
    const { send, emit } = connect();

    for (let n = 0; n < 4; n++) await emit('done', { n });

    await expect(send('sum')).rejects.toMatchObject(refusal);
    expect(handled).toEqual(['done', 'done']);
  });
});

describe('a transport of the app that has no context (SEC-35)', () => {
  /** Calls handlers with the data alone. */
  class InProcess extends Server implements CustomTransportStrategy {
    listen(callback: () => void) {
      callback();
    }
    close() {}
    on() {}
    unwrap(): never {
      throw new Error('has no server');
    }
    async call(pattern: string, data: unknown): Promise<unknown> {
      const answer: unknown = await this.getHandlerByPattern(pattern)!(data);
      return lastValueFrom(this.transformToObservable(answer));
    }
  }

  it.each([
    ['an object', {}],
    ['a text', 'text'],
    ['nothing', undefined],
  ])('is counted without a TypeError, for %s', async (_what, data) => {
    const strategy = new InProcess();
    await serveAlone({ tiers: plan(2) }, { strategy }, [GuardedSums]);

    expect(await strategy.call('ping', data)).toBe('pong');
    for (let n = 0; n < 2; n++) await strategy.call('remaining', data);

    await expect(strategy.call('remaining', data)).rejects.toMatchObject(refusal);
  });
});
