import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Injectable, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  Field,
  GqlExecutionContext,
  GraphQLModule,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import * as fc from 'fast-check';
import type { FormattedExecutionResult } from 'graphql';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import {
  RateLimit,
  RateLimitClient,
  RateLimitGuard,
  RateLimitResult,
  SkipRateLimit,
  type Decision,
  type Client as Caller,
} from '../../src/index.js';
import {
  platforms,
  type Answer,
  type AppParts,
  type Ask,
  type Platform,
} from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const plan = (limit: number) => [{ name: 'plan', policy: perMinute(limit) }];

const handled: string[] = [];
beforeEach(() => void handled.splice(0));

@ObjectType()
class Item {
  @Field() name!: string;
}

@Resolver(() => Item)
class Shop {
  @Query(() => Boolean, { nullable: true }) look() {
    return handled.push('look') > 0;
  }
  // Null where it is refused, so that one refusal does not undo its siblings.
  @Mutation(() => Boolean, { nullable: true }) @RateLimit(perMinute(100)) buy() {
    return handled.push('buy') > 0;
  }
  @Query(() => [Item]) @SkipRateLimit() items() {
    return ['a', 'b', 'c'].map((name) => ({ name }));
  }
  @ResolveField(() => String, { nullable: true }) @RateLimit(perMinute(2)) price(
    @Parent() { name }: Item,
  ) {
    return `price of ${name}`;
  }
  @Query(() => Boolean) @UseGuards(RateLimitGuard, RateLimitGuard) guarded() {
    return true;
  }
  @Query(() => [Int]) remaining(@RateLimitResult() decisions: Decision[]) {
    return decisions.map((decision) => decision.remaining);
  }
  @Query(() => String) who(@RateLimitClient() { kind, id }: Caller) {
    return `${kind} ${id}`;
  }
  @Subscription(() => Number) async *ticks() {
    yield { ticks: 1 };
    yield { ticks: 2 };
  }
}

/** What Nest's context has for a request: that of HTTP, or a connection of graphql-ws. */
interface AppRequest {
  readonly headers: Record<string, string | undefined>;
  readonly connectionParams?: Record<string, string | undefined>;
  user?: { readonly id: string };
}

/** As auth guards of GraphQL apps are written. */
@Injectable()
class Auth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { req } = GqlExecutionContext.create(context).getContext<{ req: AppRequest }>();
    const id = (req.connectionParams ?? req.headers)['x-user'];
    if (id !== undefined) req.user = { id };
    return true;
  }
}

function aliases(field: string, count: number): string {
  return Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ');
}

const refusal = (tier: string, limit: number) => ({
  code: 'RATE_LIMITED',
  status: 429,
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: expect.any(String),
  detail: `Rate limit exceeded: tier '${tier}' allows ${limit} requests per 1m. Try again in 60 seconds.`,
  'violated-policies': [tier],
  retryAfterMs: 60_000,
});

describe.each(platforms)('GraphQL with Apollo on $name', ({ name, start }: Platform) => {
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose();
  });

  async function serve(
    rateLimit: AppParts['rateLimit'],
    apollo: Partial<ApolloDriverConfig> = {},
    parts: AppParts = {},
  ) {
    const module = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      allowBatchedHttpRequests: true,
      subscriptions: { 'graphql-ws': true },
      graphiql: false,
      ...apollo,
    });
    const providers = [Shop, ...(parts.providers ?? [])];
    const running = await start({ ...parts, rateLimit, imports: [module], providers });

    const post = (body: unknown, options: Ask = {}): Promise<Answer> =>
      running.ask('/graphql', {
        method: 'POST',
        ...options,
        headers: { 'content-type': 'application/json', ...options.headers },
        body: JSON.stringify(body),
      });
    const send = (query: string, options?: Ask) => post({ query }, options);

    /** A client of graphql-ws; `socket` are options of its connection. */
    const connect = (socket: object = {}, connectionParams: Record<string, unknown> = {}) => {
      class Socket extends WebSocket {
        constructor(url: string, protocols: string[]) {
          super(url, protocols, socket);
        }
      }
      const url = `ws://127.0.0.1:${running.port}/graphql`;
      const client = createClient({
        url,
        webSocketImpl: Socket,
        connectionParams,
        retryAttempts: 0,
        // One connection for all that a test asks of a client.
        lazyCloseTimeout: 500,
      });
      clients.push(client);
      return async (query: string) => {
        const results: FormattedExecutionResult<any, any>[] = [];
        for await (const result of client.iterate({ query })) results.push(result);
        return results;
      };
    };
    return { ...running, post, send, connect };
  }

  describe('counts each root field', () => {
    it('100 aliases of a limited mutation as 100 (SEC-31)', async () => {
      const { send } = await serve({});

      const { body } = await send(`mutation { ${aliases('buy', 100)} }`);
      const more = await send('mutation { buy }');

      expect(body.errors).toBeUndefined();
      expect(handled).toHaveLength(100);
      expect(more.body.errors[0].extensions).toEqual(refusal('route', 100));
    });

    it('those over the limit are refused one by one, with their path (SEC-31)', async () => {
      const { send } = await serve({ tiers: plan(60) });

      const { body } = await send(`{ ${aliases('look', 100)} }`);

      expect(handled).toHaveLength(60);
      expect(body.errors).toHaveLength(40);
      expect(body.errors[0].path).toEqual(['a60']);
      expect(body.data).toMatchObject({ a59: true, a60: null });
    });

    it('a batch of 10 documents with 10 aliases as 100 (SEC-32)', async () => {
      const { post, send } = await serve({});
      const document = { query: `mutation { ${aliases('buy', 10)} }` };

      const { body } = await post(Array.from({ length: 10 }, () => document));
      const more = await send('mutation { buy }');

      expect(body).toHaveLength(10);
      expect(handled).toHaveLength(100);
      expect(more.body.errors[0].extensions.code).toBe('RATE_LIMITED');
    });

    it('any batch as the sum of its fields, whatever its shape (SEC-31, SEC-32)', async () => {
      const { post, clock } = await serve({ tiers: plan(12) });
      const shapes = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 });

      await fc.assert(
        fc.asyncProperty(shapes, async (shape) => {
          handled.length = 0;
          clock.advance(60_000);
          await post(shape.map((count) => ({ query: `{ ${aliases('look', count)} }` })));
          const sum = shape.reduce((a, b) => a + b, 0);
          expect(handled).toHaveLength(Math.min(12, sum));
        }),
        { numRuns: 25 },
      );
    });

    it('a field once, however often guards reach it (SEC-36)', async () => {
      const { send } = await serve({ tiers: plan(2) });

      const { body } = await send('{ a: guarded b: guarded }');

      expect(body).toEqual({ data: { a: true, b: true } });
    });

    it('a document once in the edge phase, before it is parsed', async () => {
      const { send } = await serve({
        tiers: [{ name: 'front', policy: perMinute(2), phase: 'edge' }],
      });

      expect((await send(`{ ${aliases('look', 50)} }`)).body.errors).toBeUndefined();
      expect((await send('not a document')).status).toBe(400);
      expect((await send('{ look }')).status).toBe(429);
      expect(handled).toHaveLength(50);
    });

    it('not what has no resolver of the app, which the edge alone counts (SEC-30)', async () => {
      const { send } = await serve({
        tiers: [...plan(0), { name: 'front', policy: perMinute(4), phase: 'edge' }],
      });

      expect((await send('{ __typename }')).body).toEqual({ data: { __typename: 'Query' } });
      expect((await send('{ __schema { queryType { name } } }')).body.errors).toBeUndefined();
      expect((await send('{ nothing }')).status).toBe(400);
      expect((await send('{ look }')).body.errors[0].extensions.code).toBe('RATE_LIMITED');
      expect((await send('{ __typename }')).status).toBe(429);
    });

    it('in the handler phase too, and tells a resolver its decisions', async () => {
      const { send } = await serve({
        tiers: [...plan(9), { name: 'late', policy: perMinute(5), phase: 'handler' }],
      });

      const { body } = await send('{ a: remaining b: remaining }');

      expect(body.data).toEqual({ a: [8, 4], b: [7, 3] });
    });
  });

  describe('fields of objects', () => {
    it('are guarded by nothing unless Nest is told to (SEC-31)', async () => {
      const { send } = await serve({ tiers: plan(1) });

      const { body } = await send('{ items { price } }');

      expect(body.errors).toBeUndefined();
      expect(body.data.items).toHaveLength(3);
    });

    it('are counted for each object with fieldResolverEnhancers (SEC-31)', async () => {
      const { send } = await serve({}, { fieldResolverEnhancers: ['guards'] });

      const { body } = await send('{ items { price } }');

      expect(body.data.items).toEqual([
        { price: 'price of a' },
        { price: 'price of b' },
        { price: null },
      ]);
      expect(body.errors).toMatchObject([
        { path: ['items', 2, 'price'], extensions: { code: 'RATE_LIMITED' } },
      ]);
    });
  });

  describe('a refusal', () => {
    it('is an error of its field, and the answer says when to come back', async () => {
      const { send } = await serve({ tiers: plan(1) });

      const { status, headers, body } = await send('{ look again: look items { name } }');

      expect(status).toBe(200);
      expect(body.data).toMatchObject({ look: true, again: null, items: [{ name: 'a' }, {}, {}] });
      expect(body.errors).toEqual([
        {
          message: refusal('plan', 1).detail.replace('requests', 'request'),
          path: ['again'],
          locations: [{ line: 1, column: 8 }],
          extensions: {
            ...refusal('plan', 1),
            detail: refusal('plan', 1).detail.replace('requests', 'request'),
          },
        },
      ]);
      expect(headers).toMatchObject({ 'retry-after': '60', 'retry-after-ms': '60000' });
    });

    it('is a 429 where the app keeps the status of errors', async () => {
      const { send } = await serve(
        { tiers: plan(1) },
        { preserveHttpStatusForExecutionErrors: false },
      );

      expect((await send('{ look }')).status).toBe(200);
      expect((await send('{ look }')).status).toBe(429);
    });

    it('says so when it fails closed', async () => {
      const { send } = await serve({
        tiers: [{ ...plan(1)[0]!, cost: () => NaN, onStoreFailure: 'closed' }],
      });

      const { body } = await send('{ look }');

      expect(body.errors[0].extensions).toMatchObject({
        code: 'RATE_LIMIT_UNAVAILABLE',
        status: 503,
      });
    });

    it.each([
      [
        'a text',
        () => 'slow down',
        { message: 'slow down' },
        { code: 'RATE_LIMITED', status: 429 },
      ],
      [
        'an object',
        () => ({ code: 'BUSY', message: 'slow down', statusCode: 429, plan: 'free' }),
        { message: 'slow down' },
        { code: 'BUSY', status: 429, plan: 'free' },
      ],
    ])('has %s for a body', async (_what, body, error, extensions) => {
      const { send } = await serve({ tiers: plan(0), body });

      const { errors } = (await send('{ look }')).body;

      expect(errors[0]).toMatchObject(error);
      expect(errors[0].extensions).toEqual(extensions);
    });
  });

  describe('headers', () => {
    const context = (request: { res?: object }, reply?: object) =>
      name === 'express' ? request : { req: request, reply };

    it.each([
      ['a context of the app with the response', { context }, true],
      // Express's request leads to its response, Fastify's does not.
      ['the context that Nest makes', {}, name === 'express'],
      ['a context without a response', { context: () => ({ req: {} }) }, false],
    ])('with %s: told where there is a response (SEC-33)', async (_what, apollo, areTold) => {
      const { send } = await serve({ tiers: plan(9) }, apollo);

      const { status, headers, body } = await send('{ a: look b: look }');

      expect({ status, body }).toEqual({ status: 200, body: { data: { a: true, b: true } } });
      expect(headers['x-ratelimit-remaining']).toBe(areTold ? '7' : undefined);
    });
  });

  describe('who asks', () => {
    const identity: Exclude<AppParts['rateLimit'], false | undefined>['identity'] = {
      apiKey: {
        verify: (key) => (key === 'k1' ? { id: 'acme' } : null),
        from: ({ connectionParams, headers }: AppRequest) =>
          (connectionParams ?? headers)['x-api-key'],
      },
      user: ({ user }: AppRequest) => user?.id,
      logIdentity: true,
    };
    const auth = { provide: APP_GUARD, useClass: Auth };

    it.each<[string, Record<string, string>, string]>([
      ['a key', { 'x-api-key': 'k1', 'x-user': 'ann' }, 'api-key acme'],
      ['a user of an auth guard', { 'x-user': 'ann' }, 'user ann'],
      ['an address', {}, 'ip 127.0.0.1'],
      ['a made-up key', { 'x-api-key': 'no' }, 'ip 127.0.0.1'],
    ])('is told by the request: %s', async (_what, sent, expected) => {
      const { send, connect } = await serve(
        { identity, tiers: plan(9), registerGuard: false },
        {},
        { providers: [auth, { provide: APP_GUARD, useExisting: RateLimitGuard }] },
      );

      expect((await send('{ who }', { headers: sent })).body).toEqual({ data: { who: expected } });
      // graphql-ws's counterpart of headers, for browsers cannot send any.
      expect(await connect({}, sent)('{ who }')).toEqual([{ data: { who: expected } }]);
    });

    it('is told by the headers of a connection', async () => {
      const { connect } = await serve({
        identity: { apiKey: { verify: (key) => ({ id: `holder of ${key}` }) } },
        tiers: plan(9),
      });

      const [result] = await connect({ headers: { 'X-API-Key': 'k1' } })('{ who }');

      expect(result).toEqual({ data: { who: 'api-key holder of k1' } });
    });

    it.each([
      ['a trusted proxy', 'loopback', 'ip 203.0.113.7'],
      ['nobody trusted', false, 'ip 127.0.0.1'],
    ])('behind %s', async (_what, trustProxy, expected) => {
      const { send, connect } = await serve({ tiers: plan(9) }, {}, { trustProxy });
      const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' };

      expect((await send('{ who }', { headers })).body.data).toEqual({ who: expected });
      expect(await connect({ headers })('{ who }')).toEqual([{ data: { who: expected } }]);
    });
  });

  describe('a key whose answer is not kept', () => {
    const lookups: string[] = [];
    beforeEach(() => void lookups.splice(0));
    const identity = {
      apiKey: {
        cache: false,
        verify: async (key: string) => {
          lookups.push(key);
          return key.startsWith('k') ? { id: `holder of ${key}` } : null;
        },
      },
    } as const;
    const sending = (key: string) => ({ headers: { 'x-api-key': key } });
    interface Opened {
      readonly extra: { readonly request: object; own?: object };
    }
    const perAddress = [{ name: 'front', by: 'ip', policy: perMinute(500) }] as const;

    it.each([
      ['alone', plan(999)],
      ['beside a tier of addresses', [...plan(999), ...perAddress]],
    ])('is looked up once for 100 aliases (SEC-21, SEC-31): %s', async (_what, tiers) => {
      const { send } = await serve({ identity, tiers });

      const { body } = await send(`{ ${aliases('look', 100)} who }`, sending('k1'));

      expect(body.data.who).toBe('api-key holder of k1');
      expect(lookups).toEqual(['k1']);
    });

    it('is looked up once for a batch, and again for the next request (SEC-21, SEC-32)', async () => {
      const { post } = await serve({ identity, tiers: plan(999) });
      const batch = Array.from({ length: 10 }, () => ({ query: `{ ${aliases('who', 10)} }` }));

      const answers = await Promise.all(
        ['k1', 'k2', 'made-up'].map((key) => post(batch, sending(key))),
      );

      const counted = answers.map(({ body }) =>
        (body as { data: object }[]).flatMap(({ data }) => Object.values(data) as string[]),
      );
      expect(counted.map((ids) => new Set(ids))).toEqual([
        new Set(['api-key holder of k1']),
        new Set(['api-key holder of k2']),
        new Set(['ip 127.0.0.1']),
      ]);
      expect(lookups.toSorted()).toEqual(['k1', 'k2', 'made-up']);
    });

    it.each<[string, Partial<ApolloDriverConfig>]>([
      ['the context that Nest makes', {}],
      ['its request as req', { context: ({ extra }: Opened) => ({ req: extra.request }) }],
      [
        'one context for all',
        { context: ({ extra }: Opened) => (extra.own ??= { req: extra.request }) },
      ],
    ])(
      'is looked up for each operation of a connection, with %s (SEC-33)',
      async (_what, apollo) => {
        const { connect } = await serve({ identity, tiers: plan(999) }, apollo);
        const ask = connect(sending('k1'));

        for (let n = 1; n <= 3; n++) {
          expect((await ask(`{ ${aliases('look', 10)} }`))[0]!.errors).toBeUndefined();
          expect(lookups).toHaveLength(n);
        }
      },
    );
  });

  describe('over graphql-ws', () => {
    it('a subscription is counted when it starts, not for its events (SEC-33)', async () => {
      const { connect } = await serve({ tiers: plan(2) });
      const ask = connect();
      const events = [{ data: { ticks: 1 } }, { data: { ticks: 2 } }];

      expect(await ask('subscription { ticks }')).toEqual(events);
      expect(await ask('subscription { ticks }')).toEqual(events);
      const [{ errors }] = (await ask('subscription { ticks }')) as [FormattedExecutionResult];

      expect(errors).toMatchObject([{ path: ['ticks'], extensions: refusal('plan', 2) }]);
      // What Apollo would take off and graphql-ws would send.
      expect(errors![0]!.extensions).not.toHaveProperty('http');
    });

    it('a new connection starts nothing anew, and HTTP counts with it (SEC-33)', async () => {
      const { connect, send } = await serve({ tiers: plan(2) });

      await connect()('{ look }');
      await connect()('{ look }');

      expect((await connect()('{ look }'))[0]!.errors).toHaveLength(1);
      expect((await send('{ look }')).body.errors).toHaveLength(1);
    });

    it('clients of other addresses are others (SEC-33)', async () => {
      const { connect } = await serve({ tiers: plan(1) });

      await connect()('{ look }');

      expect(await connect({ localAddress: '127.0.0.2' })('{ look }')).toEqual([
        { data: { look: true } },
      ]);
    });

    it.each<[string, ApolloDriverConfig['context']]>([
      ['the connection', ({ extra }: any) => ({ extra })],
      ['its request as req', ({ extra }: any) => ({ req: extra.request })],
      ['nothing of it', () => ({ req: {} })],
    ])('a context of the app with %s crashes nothing (SEC-33)', async (_what, context) => {
      const { connect } = await serve({ tiers: plan(1) }, { context });
      const ask = connect();

      expect(await ask('{ look }')).toEqual([{ data: { look: true } }]);
      expect(await ask('{ look }')).toMatchObject([
        { data: { look: null }, errors: [{ extensions: { code: 'RATE_LIMITED' } }] },
      ]);
    });

    it('connections are counted by the edge (SEC-34)', async () => {
      const { connect } = await serve({
        tiers: [{ name: 'front', policy: perMinute(1), phase: 'edge' }],
      });

      await connect()(`{ ${aliases('look', 5)} }`);

      await expect(connect()('{ look }')).rejects.toMatchObject({
        message: 'Unexpected server response: 429',
      });
      expect(handled).toHaveLength(5);
    });
  });
});
