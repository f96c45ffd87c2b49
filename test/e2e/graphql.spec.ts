import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { RateLimit, RateLimitResult } from '../../src/index.js';
import { platforms } from '../support/platforms.js';
import { Transports } from '../../src/transports/transports.js';

@Resolver()
class Shop {
  @Query(() => String) hello(@RateLimitResult() d: any) {
    return 'hello' + d.length;
  }
  @Subscription(() => Number, { filter: (p) => p.ticks < 4, resolve: (p) => p.ticks }) async *ticks() {
    yield { ticks: 1 };
    yield { ticks: 2 };
  }
}

describe.each(platforms)('on $name', ({ start }) => {
  it('x', async () => {
    const { ask, app, port, log } = await start({
      rateLimit: { tiers: [{ name: 'plan', policy: 'fixed-window:2/1m' }] },
      imports: [
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          allowBatchedHttpRequests: true,
          subscriptions: { 'graphql-ws': true },
          graphiql: false,
        }),
      ],
      providers: [Shop],
    });
    const t = app.get(Transports);
    const of = t.of.bind(t);
    t.of = (c) => { const x = of(c); 
      const ctx: any = c.getArgs()[2];
      console.log(c.getType(), c.getArgs().length, Object.keys(ctx), Object.keys(ctx.req), 'extra' in ctx.req, x.caller(c).ip, x.caller(c).peer); return x; };
    const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, lazy: true, retryAttempts: 0 });
    for (let n = 0; n < 3; n++) {
      const got: any[] = [];
      try { for await (const r of client.iterate({ query: 'subscription { ticks }' })) got.push(r); } catch (e) { got.push(e); }
      console.log(JSON.stringify(got), got[0]);
    }
    for await (const r of client.iterate({ query: '{ a: hello b: hello }' })) console.log(JSON.stringify(r));
    const answer = await ask('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ hello }' }),
    });
    console.log(answer.status, answer.headers, answer.text.slice(0, 2000), log);
    await client.dispose();
  });
});
