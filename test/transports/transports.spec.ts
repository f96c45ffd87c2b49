import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { lastValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import {
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitResult,
  SkipRateLimit,
  type Decision,
} from '../../src/index.js';
import { platforms } from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const tiers = [{ name: 'plan', policy: perMinute(2) }];

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say') say(@RateLimitResult() decisions: Decision[]) {
    return { event: 'said', data: decisions.map(({ remaining }) => remaining) };
  }
  @SubscribeMessage('ping') @SkipRateLimit() ping() {
    return { event: 'pong' };
  }
}

@Controller()
class Sums {
  @MessagePattern('sum') sum(numbers: number[]) {
    return numbers.reduce((a, b) => a + b, 0);
  }
  @MessagePattern('held') @RateLimit({ name: 'own', policy: perMinute(1) }) held() {
    return 'held';
  }
}

class Fields {
  @Get() field() {}
}

const fieldHandler = Object.getOwnPropertyDescriptor(Fields.prototype, 'field')!
  .value as () => void;

const refusal = {
  code: 'RATE_LIMITED',
  status: 429,
  'violated-policies': ['plan'],
  retryAfterMs: 60_000,
  detail: "Rate limit exceeded: tier 'plan' allows 2 requests per 1m. Try again in 60 seconds.",
};

describe.each(platforms)('on $name', ({ name, start }) => {
  describe('a ws gateway', () => {
    async function connect(rateLimit: object) {
      const running = await start({
        rateLimit,
        providers: [Chat],
        prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)),
      });
      const open = async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${running.port}`);
        await once(socket, 'open');
        return async (event: string, data: unknown = {}) => {
          socket.send(JSON.stringify({ event, data }));
          const [reply] = (await once(socket, 'message')) as [Buffer];
          return JSON.parse(reply.toString()) as { event: string; data: any };
        };
      };
      return { ...running, open };
    }

    it('charges each message, and answers a refusal with an exception (SEC-34)', async () => {
      const { open } = await connect({ tiers });
      const send = await open();

      expect(await send('say')).toEqual({ event: 'said', data: [1] });
      expect(await send('say')).toEqual({ event: 'said', data: [0] });
      expect(await send('say')).toMatchObject({ event: 'exception', data: refusal });
      expect(await send('ping')).toEqual({ event: 'pong' });
    });

    it('counts a client over all its connections, and text as well (SEC-34)', async () => {
      const { open } = await connect({ tiers });
      await (
        await open()
      )('say', 'text');
      await (
        await open()
      )('say', 'text');

      expect(await (await open())('say', 'text')).toMatchObject({ event: 'exception' });
    });

    it('has no headers to set and no TypeError for any phase (user report 43)', async () => {
      const { open } = await connect({
        headers: ['x-ratelimit', 'draft-8'],
        tiers: [
          { name: 'front', policy: perMinute(9), phase: 'edge' },
          { name: 'late', policy: perMinute(1), phase: 'handler' },
        ],
      });
      const send = await open();

      expect(await send('say')).toMatchObject({ event: 'said', data: [0] });
      expect((await send('say')).data).toMatchObject({
        code: 'RATE_LIMITED',
        'violated-policies': ['late'],
      });
    });

    it('says so when it fails closed', async () => {
      const { open } = await connect({
        tiers: [{ ...tiers[0], cost: () => NaN, onStoreFailure: 'closed' }],
      });

      const { data } = await (await open())('say');

      expect(data).toMatchObject({ code: 'RATE_LIMIT_UNAVAILABLE', status: 503 });
    });
  });

  describe('a TCP microservice', () => {
    const clients: ClientProxy[] = [];
    afterEach(() => clients.splice(0).forEach((client) => void client.close()));

    async function connect(rateLimit: object) {
      const { app } = await start({ rateLimit, controllers: [Sums] });
      const options = { host: '127.0.0.1', port: 0 };
      const service = app.connectMicroservice<MicroserviceOptions>(
        { transport: Transport.TCP, options },
        { inheritAppConfig: true },
      );
      await app.startAllMicroservices();
      const { serverInstance } = service as unknown as { serverInstance: { server: Server } };
      const { port } = serverInstance.server.address() as AddressInfo;
      const client = ClientProxyFactory.create({
        transport: Transport.TCP,
        options: { ...options, port },
      });
      clients.push(client);
      return (pattern: string, data: unknown = [1, 2]) =>
        lastValueFrom(client.send<unknown>(pattern, data));
    }

    it('charges each message, and refuses with an RpcException (SEC-35)', async () => {
      const send = await connect({ tiers });

      expect(await send('sum')).toBe(3);
      expect(await send('sum')).toBe(3);
      await expect(send('sum')).rejects.toMatchObject(refusal);
    });

    it('tells message patterns apart, and takes a text for a body', async () => {
      const send = await connect({ body: () => 'slow down' });

      expect(await send('held')).toBe('held');
      await expect(send('held')).rejects.toEqual({ code: 'RATE_LIMITED', message: 'slow down' });
      expect(await send('sum', [4])).toBe(4);
    });
  });

  describe('GraphQL', () => {
    /** A field of a document, as Nest's drivers call guards. */
    function field(context: unknown, info: unknown = {}): ExecutionContext {
      const host = new ExecutionContextHost([{}, {}, context, info], Fields, fieldHandler);
      host.setType('graphql');
      return host;
    }

    async function guarded(more: object = {}) {
      const { app } = await start({ rateLimit: { tiers, ...more } });
      const guard = app.get(RateLimitGuard);
      return (context: unknown, info?: unknown) => guard.canActivate(field(context, info));
    }

    const request = (ip: string) => ({ ip, headers: {}, url: '/graphql' });
    /** The parts of the platform's response that its adapter needs. */
    const response = () => {
      const sent: Record<string, string> = {};
      const set = (header: string, value: string) => void (sent[header.toLowerCase()] = value);
      const express = { set, setHeader: set, headersSent: false };
      const fastify = { header: set, status() {}, sent: false, raw: { headersSent: false } };
      return { sent, response: name === 'express' ? express : fastify };
    };

    // user report 42, SEC-33
    it.each<[string, (ip: string) => unknown]>([
      ['Apollo without a response', (ip) => ({ req: request(ip) })],
      ['Mercurius', (ip) => ({ reply: { request: request(ip), ...response().response } })],
      [
        'a subscription over graphql-ws',
        (ip) => ({ extra: { request: { ...request(ip), socket: { remoteAddress: ip } } } }),
      ],
      ['a request of Yoga', (ip) => ({ request: request(ip) })],
    ])('refuses with an exception, and never a TypeError: %s', async (_driver, context) => {
      const ask = await guarded();

      expect(await ask(context('9.9.9.1'))).toBe(true);
      expect(await ask(context('9.9.9.1'))).toBe(true);
      await expect(ask(context('9.9.9.1'))).rejects.toMatchObject({
        name: 'RateLimitException',
        status: 429,
        response: { 'violated-policies': ['plan'] },
      });
      expect(await ask(context('9.9.9.2'))).toBe(true);
    });

    it.each<[string, unknown]>([
      ['a subscription without a request', {}],
      ['no context', undefined],
      ['a connection alone', { connection: {} }],
    ])('limits %s together with others of no address', async (_what, context) => {
      const ask = await guarded();

      expect(await ask(context)).toBe(true);
      expect(await ask(context)).toBe(true);
      await expect(ask(context)).rejects.toThrow(RateLimitException);
    });

    it('charges each field of a request, so that aliases multiply nothing (SEC-31, SEC-32)', async () => {
      const ask = await guarded();
      const context = { req: request('9.9.9.9') };

      const asked = await Promise.allSettled(
        Array.from({ length: 10 }, (_, path) => ask(context, { path })),
      );

      expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    });

    it('charges a field once when two guards reach it (SEC-36)', async () => {
      const ask = await guarded();
      const info = {};

      for (let n = 0; n < 5; n++) expect(await ask({ req: request('9.9.9.9') }, info)).toBe(true);
    });

    it('sets headers where there is a response', async () => {
      const ask = await guarded();
      const { sent, response: res } = response();

      await ask({ req: request('9.9.9.9'), res });

      expect(sent).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' });
    });
  });

  describe('a context of a kind that is not known', () => {
    it.each<[string, unknown[]]>([
      ['rmq', []],
      ['telegraf', [{ from: 1 }]],
      // what a library makes without naming its kind
      ['http', []],
      ['http', ['a message', { fields: 1 }]],
      ['http', [null, null]],
    ])('is limited without a TypeError: %p of %p', async (type, args) => {
      const { app } = await start({ rateLimit: { tiers } });
      const guard = app.get(RateLimitGuard);
      const ask = () => {
        const host = new ExecutionContextHost(args, Fields, fieldHandler);
        host.setType(type);
        return guard.canActivate(host);
      };

      expect([await ask(), await ask()]).toEqual([true, true]);
      await expect(ask()).rejects.toThrow(RateLimitException);
    });
  });
});
