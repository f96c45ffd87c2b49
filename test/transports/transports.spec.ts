import { Get, type ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { GraphQLObjectType, GraphQLInt } from 'graphql';
import { RateLimitException, RateLimitGuard } from '../../src/index.js';
import { platforms } from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const tiers = [{ name: 'plan', policy: perMinute(2) }];

class Fields {
  @Get() field() {}
}

const fieldHandler = Object.getOwnPropertyDescriptor(Fields.prototype, 'field')!
  .value as () => void;

describe.each(platforms)('on $name', ({ name, start }) => {
  describe('GraphQL', () => {
    /** A field of a document, as Nest's drivers call guards. */
    function field(context: unknown, info: unknown = {}): ExecutionContext {
      return called([{}, {}, context, info]);
    }

    function called(args: unknown[]): ExecutionContext {
      const host = new ExecutionContextHost(args, Fields, fieldHandler);
      host.setType('graphql');
      return host;
    }

    async function guarded(more: object = {}) {
      const { app } = await start({ rateLimit: { tiers, ...more } });
      const guard = app.get(RateLimitGuard);
      return (context: unknown, info?: unknown) => guard.canActivate(field(context, info));
    }

    const type = new GraphQLObjectType({ name: 'Item', fields: { id: { type: GraphQLInt } } });
    const request = (ip: string) => ({ ip, headers: {}, url: '/graphql' });
    /** The parts of the platform's response that its adapter needs. */
    const response = () => {
      const sent: Record<string, string> = {};
      const set = (header: string, value: string) => void (sent[header.toLowerCase()] = value);
      const express = { set, setHeader: set, headersSent: false };
      const fastify = { header: set, status() {}, sent: false, raw: { headersSent: false } };
      return { sent, response: name === 'express' ? express : fastify };
    };

    // user report 42
    it.each<[string, (ip: string) => unknown]>([
      ['Apollo without a response', (ip) => ({ req: request(ip) })],
      ['Mercurius', (ip) => ({ reply: { request: request(ip), ...response().response } })],
      [
        'a subscription over graphql-ws',
        (ip) => ({ extra: { request: { ...request(ip), socket: { remoteAddress: ip } } } }),
      ],
      ['a request of Yoga', (ip) => ({ request: request(ip) })],
    ])(
      'refuses with an exception, and never a TypeError: %s (SEC-33)',
      async (_driver, context) => {
        const ask = await guarded();

        expect(await ask(context('9.9.9.1'))).toBe(true);
        expect(await ask(context('9.9.9.1'))).toBe(true);
        await expect(ask(context('9.9.9.1'))).rejects.toMatchObject({
          name: 'RateLimitException',
          status: 429,
          response: { 'violated-policies': ['plan'] },
        });
        expect(await ask(context('9.9.9.2'))).toBe(true);
      },
    );

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

    // Guards reach these with fieldResolverEnhancers; they have no arguments.
    it.each<[string, (context: object, info: object) => unknown[]]>([
      ['a reference of a federation', (context, info) => [{ __typename: 'Item' }, context, info]],
      ['the type of a union', (context, info) => [{}, context, info, type]],
    ])('finds the request and the field of %s', async (_what, argsOf) => {
      const { app } = await start({ rateLimit: { tiers } });
      const guard = app.get(RateLimitGuard);
      const ask = (ip: string, info = {}) =>
        guard.canActivate(called(argsOf({ req: request(ip) }, info)));
      const info = { fieldName: 'item' };

      for (let n = 0; n < 5; n++) expect(await ask('9.9.9.1', info)).toBe(true);
      expect(await ask('9.9.9.1')).toBe(true);
      await expect(ask('9.9.9.1')).rejects.toThrow(RateLimitException);
      expect(await ask('9.9.9.2')).toBe(true);
    });

    it('charges each field of a request, so that aliases multiply nothing (SEC-31, SEC-32)', async () => {
      const ask = await guarded();
      const context = { req: request('9.9.9.9') };

      const asked = await Promise.allSettled(
        Array.from({ length: 10 }, async (_, path) => ask(context, { path })),
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
