import {
  Controller,
  Get,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  LimiterService,
  type CountedBy,
  type IdentityOptions,
  type RateLimitContext,
  type TierOptions,
} from '../../src/index.js';
import { platforms, type Ask, type RateLimit as Options } from '../support/platforms.js';

const once = 'fixed-window:1/1m' as const;
const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;

/** Sets the user that a header names, as an auth guard would. */
@Injectable()
class Auth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Record<string, any>>();
    const { 'x-user': id } = request['headers'] as Record<string, string>;
    if (id !== undefined) request['user'] = { id };
    return true;
  }
}

@Controller()
class Search {
  @Get('find') find() {}
  @Get('guarded') @UseGuards(Auth) guarded() {}
}

const KEYS: Record<string, { id: string; plan?: string }> = {
  'sk-alice': { id: 'alice', plan: 'pro' },
  'sk-alice-2': { id: 'alice', plan: 'pro' },
  'sk-bob': { id: 'bob', plan: 'free' },
};

const identity: IdentityOptions = {
  apiKey: { verify: (key) => KEYS[key] ?? null },
  user: (request: { user?: { id: string } }) => request.user?.id,
};

const byHeader: CountedBy = ({ request }) =>
  (request as { headers: Record<string, string | undefined> }).headers['x-user'];
const key = (value: string | string[]): Ask => ({ headers: { 'x-api-key': value } });
const user = (id: string): Ask => ({ headers: { 'x-user': id } });
const forwarded = (value: string, from?: string): Ask => ({
  headers: { 'x-forwarded-for': value },
  ...(from !== undefined && { from }),
});

const plan = (tier: Partial<TierOptions>): TierOptions =>
  ({
    name: 'plan',
    ...('algorithm' in tier || 'limit' in tier ? {} : { policy: once }),
    ...tier,
  }) as TierOptions;

describe.each(platforms)('on $name', ({ start }) => {
  const startSearch = (rateLimit: Options, more: object = {}) =>
    start({
      rateLimit: { identity, ...rateLimit },
      controllers: [Search],
      providers: [{ provide: APP_GUARD, useClass: Auth }],
      ...more,
    });

  describe('who is counted', () => {
    // One request of `first`, then one of `second`: 200 when they are two, 429 when they are one.
    it.each<[string, CountedBy, Ask, Ask, number]>([
      ['two verified keys are two clients', 'client', key('sk-alice'), key('sk-bob'), 200],
      ['one key is one client', 'client', key('sk-bob'), key('sk-bob'), 429],
      [
        'two keys of one customer are one client (SEC-18)',
        'client',
        key('sk-alice'),
        key('sk-alice-2'),
        429,
      ],
      [
        'made-up keys share their address (SEC-16)',
        'client',
        key('made-up-1'),
        key('made-up-2'),
        429,
      ],
      ['a made-up key and no key are one (SEC-16)', 'client', key('made-up-1'), {}, 429],
      ['an empty key is no key', 'client', key(''), {}, 429],
      [
        'two header lines are one key that nobody holds (SEC-19)',
        'client',
        key(['sk-alice', 'sk-bob']),
        {},
        429,
      ],
      ['a key and a user are two', 'client', key('sk-alice'), user('alice'), 200],
      ['two users are two', 'client', user('ann'), user('ben'), 200],
      [
        'a verified key comes before a user',
        'client',
        key('sk-bob'),
        { headers: { 'x-api-key': 'sk-bob', 'x-user': 'ann' } },
        429,
      ],
      [
        'a made-up key is not counted for a user (SEC-17)',
        'client',
        { headers: { 'x-api-key': 'made-up', 'x-user': 'ann' } },
        user('ann'),
        200,
      ],
      ['two addresses are two (SEC-12)', 'client', {}, { from: '127.0.0.2' }, 200],
      [
        'one user at two addresses is one',
        'client',
        user('ann'),
        { ...user('ann'), from: '127.0.0.2' },
        429,
      ],
      ['by ip, a key does not matter (SEC-22)', 'ip', key('sk-alice'), key('sk-bob'), 429],
      ['by ip, two addresses are two', 'ip', {}, { from: '127.0.0.2' }, 200],
      ['by api-key, two customers are two', 'api-key', key('sk-alice'), key('sk-bob'), 200],
      ['by user, two users are two', 'user', user('ann'), user('ben'), 200],
      [
        'by user, one user is one whatever the key',
        'user',
        user('ann'),
        { headers: { 'x-api-key': 'sk-bob', 'x-user': 'ann' } },
        429,
      ],
      ['globally, everybody is one', 'global', key('sk-alice'), { from: '127.0.0.2' }, 429],
      ['by a function, its answer is counted', byHeader, user('ann'), user('ben'), 200],
      [
        'by a function, one answer is one',
        byHeader,
        user('ann'),
        { ...user('ann'), from: '127.0.0.2' },
        429,
      ],
      [
        'X-Forwarded-For is not believed without a proxy (SEC-01)',
        'ip',
        forwarded('1.1.1.1'),
        forwarded('2.2.2.2'),
        429,
      ],
      [
        'the address that a header claims is not charged (SEC-05)',
        'ip',
        forwarded('127.0.0.2'),
        { from: '127.0.0.2' },
        200,
      ],
    ])('%s', async (_fact, by, first, second, status) => {
      const { ask } = await startSearch({ tiers: [plan({ by })] });

      expect((await ask('/find', first)).status).toBe(200);
      expect((await ask('/find', second)).status).toBe(status);
    });

    it.each<[string, CountedBy, Ask]>([
      ['no key', 'api-key', {}],
      ['no user', 'user', key('sk-alice')],
      ['a function that answers undefined', () => undefined, {}],
    ])('does not apply a tier whose subject is absent: %s', async (_fact, by, ask) => {
      const { admitted } = await startSearch({ tiers: [plan({ by })] });

      expect(await admitted('/find', 3, ask)).toBe(3);
    });

    it.each<[string, Ask]>([
      ['a made-up key', key('made-up')],
      ['two header lines', key(['sk-alice', 'sk-alice'])],
    ])('charges the address for a key that is nobody’s: %s (SEC-21)', async (_fact, ask) => {
      const { admitted } = await startSearch({ tiers: [plan({ by: 'api-key' })] });

      expect(await admitted('/find', 3, ask)).toBe(1);
    });

    it.each<[string, string, Ask[], number]>([
      [
        'the hop that the proxy added is believed, not what is left of it (SEC-02)',
        'loopback',
        ['6.6.6.1', '6.6.6.2', '6.6.6.3'].map((fake) => forwarded(`${fake}, 9.9.9.9`)),
        1,
      ],
      [
        'two clients behind the proxy are two',
        'loopback',
        [forwarded('9.9.9.8'), forwarded('9.9.9.9')],
        2,
      ],
      [
        'a port is not part of an address (SEC-07)',
        'loopback',
        [forwarded('9.9.9.9:1000'), forwarded('9.9.9.9:1001'), forwarded('9.9.9.9')],
        1,
      ],
      [
        'IPv6 is one client per /56 (SEC-08)',
        'loopback',
        [forwarded('2001:db8::1'), forwarded('2001:db8::2'), forwarded('2001:db8:0:ff::1')],
        1,
      ],
      [
        'an IPv4-mapped address is the IPv4 one (SEC-11)',
        'loopback',
        [forwarded('::ffff:9.9.9.9'), forwarded('9.9.9.9'), forwarded('::ffff:909:909')],
        1,
      ],
      [
        'what is no address falls back to the peer (SEC-06)',
        'loopback',
        ['evil', 'unknown', '999.1.1.1', ',,,', '1.2.3.4.5'].map((junk) => forwarded(junk)),
        1,
      ],
      [
        'a peer that is no proxy is not believed',
        '10.0.0.0/8',
        [forwarded('1.1.1.1'), forwarded('2.2.2.2')],
        1,
      ],
    ])('behind a proxy: %s', async (_fact, trustProxy, asks, admitted) => {
      const { ask } = await startSearch({ tiers: [plan({ by: 'ip' })] }, { trustProxy });

      let passed = 0;
      for (const one of asks) if ((await ask('/find', one)).status === 200) passed++;

      expect(passed).toBe(admitted);
    });

    it('is not reset by switching identity: each tier counts on (SEC-22)', async () => {
      const { ask } = await startSearch({
        tiers: [
          { name: 'ip', by: 'ip', policy: perMinute(3) },
          { name: 'plan', by: 'client', policy: once },
        ],
      });
      for (const one of [{}, key('sk-alice'), user('ann')]) await ask('/find', one);

      const { status, body } = await ask('/find', key('sk-bob'));

      expect(status).toBe(429);
      expect(body['violated-policies']).toEqual(['ip']);
    });

    it('verifies a key once per request, in however many tiers and phases', async () => {
      const verify = jest.fn((given: string) => KEYS[given] ?? null);
      const { ask } = await startSearch({
        identity: { apiKey: { verify, cache: false } },
        skip: () => false,
        tiers: [
          plan({
            by: 'api-key',
            limit: ({ client }) => (client['plan'] === 'pro' ? 5 : 1),
            algorithm: 'gcra',
            window: '1m',
          }),
          { name: 'client', by: 'client', policy: perMinute(5) },
          { name: 'late', by: 'client', policy: perMinute(5), phase: 'handler' },
        ],
      });

      await ask('/find', key('sk-alice'));
      await ask('/find', key('made-up'));

      expect(verify.mock.calls.map(([given]) => given)).toEqual(['sk-alice', 'made-up']);
    });

    it.each<[how: string, user: () => string | undefined | Promise<string | undefined>]>([
      ['at once', () => 'ann'],
      ['later', () => Promise.resolve('ann')],
      ['nobody', () => undefined],
      ['nobody, later', () => Promise.resolve(undefined)],
      ['an error', () => Promise.reject(new Error('broken'))],
    ])('asks for the user once a phase, in however many tiers: %s', async (_how, answer) => {
      const asked = jest.fn(answer);
      const { ask } = await startSearch({
        identity: { user: asked },
        skip: () => false,
        tiers: [
          plan({ by: 'client', policy: perMinute(5) }),
          { name: 'user', by: 'user', policy: perMinute(5) },
          { name: 'costly', by: 'client', policy: perMinute(5), cost: () => 2 },
          { name: 'named', by: ({ client }) => client.id, policy: perMinute(5) },
          { name: 'late', by: 'user', policy: perMinute(5), phase: 'handler' },
        ],
      });

      expect((await ask('/find')).status).toBe(200);

      expect(asked).toHaveBeenCalledTimes(2);
    });

    it('charges one user in all tiers of a phase, whatever the next answer is', async () => {
      let asked = 0;
      const { ask, app } = await startSearch({
        identity: { user: () => `user-${asked++}` },
        tiers: [
          plan({ by: 'client', policy: perMinute(5) }),
          { name: 'user', by: 'user', policy: perMinute(5) },
          { name: 'costly', by: 'client', policy: perMinute(5), cost: () => 2 },
        ],
      });
      await ask('/find');

      const limiter = app.get(LimiterService);
      const left = async (policy: string, id: string, cost: number): Promise<number> =>
        (await limiter.peek(policy, { kind: 'user', id }, { cost })).remaining;

      expect(await left('plan', 'user-0', 1)).toBe(4);
      expect(await left('user', 'user-0', 1)).toBe(4);
      expect(await left('user', 'user-1', 1)).toBe(5);
      expect(asked).toBe(1);
    });

    it('does not verify for tiers that do not ask', async () => {
      const verify = jest.fn(() => null);
      const { admitted } = await startSearch({
        identity: { apiKey: { verify } },
        tiers: [plan({ by: 'ip' })],
      });

      expect(await admitted('/find', 5, key('guess'))).toBe(1);
      expect(verify).not.toHaveBeenCalled();
    });

    it('stops guessing before verify is asked, at the edge (SEC-21)', async () => {
      const verify = jest.fn(() => null);
      const { ask } = await startSearch({
        identity: { apiKey: { verify } },
        tiers: [
          { name: 'front', phase: 'edge', policy: perMinute(3) },
          { name: 'plan', policy: perMinute(100) },
        ],
      });

      for (let n = 0; n < 10; n++) await ask('/find', key(`guess-${n}`));

      expect(verify).toHaveBeenCalledTimes(3);
    });

    it.each([
      [
        'a header of another name',
        { header: 'X-Partner-Key', verify: identity.apiKey!.verify! },
        { 'x-partner-key': 'sk-alice' },
        { 'x-partner-key': 'sk-bob' },
        200,
      ],
      [
        'the key behind Bearer (SEC-18)',
        {
          from: (request: any) => /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1],
          verify: identity.apiKey!.verify!,
        },
        { authorization: 'Bearer sk-bob' },
        { authorization: 'bearer sk-bob' },
        429,
      ],
      [
        'a key that a gateway verified',
        { trusted: true },
        { 'x-api-key': 'one' },
        { 'x-api-key': 'two' },
        200,
      ],
    ])('finds a key in %s', async (_where, apiKey, first, second, status) => {
      const { ask } = await startSearch({ identity: { apiKey }, tiers: [plan({})] });
      await ask('/find', { headers: first });

      expect((await ask('/find', { headers: second })).status).toBe(status);
    });

    it.each([
      ['an array query', '/find?key=sk-alice&key=sk-bob'],
      ['an object', '/find?key[a]=sk-alice'],
    ])('takes %s for a key that nobody holds (SEC-19)', async (_form, path) => {
      const apiKey = {
        from: (request: { query: Record<string, string> }) =>
          request.query['key'] ?? (path.includes('[') ? ({ a: 'sk-alice' } as never) : undefined),
        verify: identity.apiKey!.verify!,
      };
      const { ask } = await startSearch({ identity: { ...identity, apiKey }, tiers: [plan({})] });
      await ask('/find?key=nobody');

      expect((await ask(path, user('ann'))).status).toBe(429);
    });
  });

  describe('guard order', () => {
    const tiers = (phase: 'guard' | 'handler'): TierOptions[] => [plan({ by: 'client', phase })];

    it('knows the user that a guard of the root module set (SEC-20)', async () => {
      const { ask } = await startSearch({ tiers: tiers('guard') });
      await ask('/find', user('ann'));

      expect((await ask('/find', user('ben'))).status).toBe(200);
      expect((await ask('/find', user('ann'))).status).toBe(429);
    });

    it("does not know the user of a route's own guard in the guard phase (SEC-20)", async () => {
      const { ask } = await startSearch({ tiers: tiers('guard') }, { providers: [] });
      await ask('/guarded', user('ann'));

      expect((await ask('/guarded', user('ben'))).status).toBe(429);
    });

    it("knows the user of a route's own guard in the handler phase (SEC-20)", async () => {
      const { ask } = await startSearch({ tiers: tiers('handler') }, { providers: [] });
      await ask('/guarded', user('ann'));

      expect((await ask('/guarded', user('ben'))).status).toBe(200);
      expect((await ask('/guarded', user('ann'))).status).toBe(429);
    });

    it('looks at the user again in a later phase', async () => {
      const { ask } = await startSearch(
        { tiers: [{ name: 'front', policy: perMinute(9) }, ...tiers('handler')] },
        { providers: [] },
      );
      await ask('/guarded', user('ann'));

      expect((await ask('/guarded', user('ben'))).status).toBe(200);
    });
  });

  describe('numbers that depend on the request', () => {
    const byPlan = ({ client }: RateLimitContext) => (client['plan'] === 'pro' ? 4 : 2);

    it.each<[string, Partial<TierOptions>, number, number]>([
      ['limit', { algorithm: 'fixed-window', limit: byPlan, window: '1m' }, 4, 2],
      [
        'an async limit',
        { algorithm: 'fixed-window', limit: async (context) => byPlan(context), window: '1m' },
        4,
        2,
      ],
      ['burst', { algorithm: 'gcra', limit: 60, window: '1m', burst: byPlan }, 4, 2],
      [
        'cost',
        {
          algorithm: 'fixed-window',
          limit: 4,
          window: '1m',
          cost: ({ client }) => (client['plan'] === 'pro' ? 1 : 2),
        },
        4,
        2,
      ],
      [
        'a cost of 0',
        { policy: once, cost: ({ client }) => (client['plan'] === 'pro' ? 0 : 1) },
        6,
        1,
      ],
      ['skip', { policy: once, skip: ({ client }) => client['plan'] === 'pro' }, 6, 1],
      [
        'an async skip',
        { policy: once, skip: async ({ client }) => client['plan'] === 'pro' },
        6,
        1,
      ],
    ])('%s', async (_what, tier, pro, free) => {
      const { admitted } = await startSearch({ tiers: [{ name: 'plan', ...tier } as TierOptions] });

      expect(await admitted('/find', 6, key('sk-alice'))).toBe(pro);
      expect(await admitted('/find', 6, key('sk-bob'))).toBe(free);
    });

    it('window', async () => {
      const { ask, clock } = await startSearch({
        tiers: [
          plan({
            algorithm: 'fixed-window',
            limit: 1,
            window: ({ client }) => (client['plan'] === 'pro' ? '1s' : 60_000),
          }),
        ],
      });
      for (const one of ['sk-alice', 'sk-bob']) await ask('/find', key(one));

      clock.advance(1_000);

      expect((await ask('/find', key('sk-alice'))).status).toBe(200);
      expect((await ask('/find', key('sk-bob'))).status).toBe(429);
    });

    it('refuses what costs more than the limit, for ever and without Retry-After (SEC-43)', async () => {
      const { ask } = await startSearch({
        tiers: [plan({ policy: perMinute(10), cost: () => 11 })],
      });

      const { status, headers, body } = await ask('/find');

      expect(status).toBe(429);
      expect(headers).toMatchObject({ 'x-ratelimit-remaining': '10' });
      expect(headers).not.toHaveProperty('retry-after');
      expect(headers).not.toHaveProperty('retry-after-ms');
      expect(body).not.toHaveProperty('retryAfterMs');
    });

    it('gives resolvers the client, the request and the execution context', async () => {
      const seen: RateLimitContext[] = [];
      const { ask } = await startSearch({
        tiers: [plan({ cost: (context) => (seen.push(context), 1) })],
      });
      await ask('/find', key('sk-bob'));

      const [{ client, request, execution }] = seen as [RateLimitContext];
      expect(client).toEqual({ kind: 'api-key', id: 'bob', plan: 'free' });
      expect(request.headers['x-api-key']).toBe('sk-bob');
      expect(execution?.getHandler().name).toBe('find');
    });
  });

  describe('resolvers that fail', () => {
    const never = () => new Promise<never>(() => undefined);
    const explode = () => {
      throw new Error('resolver exploded');
    };
    const reject = () => Promise.reject(new Error('resolver exploded'));
    const dynamic = (numbers: object): Partial<TierOptions> => ({
      algorithm: 'gcra',
      limit: 5,
      window: '1m',
      ...numbers,
    });

    const faults: [string, Partial<TierOptions>, IdentityOptions?][] = [
      ['limit throws', dynamic({ limit: explode })],
      ['limit rejects', dynamic({ limit: reject })],
      ['limit hangs', dynamic({ limit: never })],
      ...[NaN, -1, '5', 1.5, Infinity, null, undefined, 2 ** 53].map(
        (value): [string, Partial<TierOptions>] => [
          `limit answers ${typeof value} ${String(value)}`,
          dynamic({ limit: () => value }),
        ],
      ),
      ['window answers text with a space', dynamic({ window: () => '1m ' })],
      ['window answers 0', dynamic({ window: () => 0 })],
      ['burst answers 0', dynamic({ burst: () => 0 })],
      ['cost throws', { policy: once, cost: explode }],
      ['cost rejects', { policy: once, cost: reject }],
      ['cost hangs', { policy: once, cost: never }],
      ...[NaN, -1, '1', 1.5, Infinity, null, undefined, 1e21].map(
        (value): [string, Partial<TierOptions>] => [
          `cost answers ${typeof value} ${String(value)}`,
          { policy: once, cost: () => value as number },
        ],
      ),
      ['skip throws', { policy: once, skip: explode }],
      ['skip hangs', { policy: once, skip: never }],
      ['by throws', { policy: once, by: explode }],
      ['by hangs', { policy: once, by: never }],
      ['by answers a number', { policy: once, by: () => 5 as never }],
      ['verify throws', { policy: once, by: 'client' }, { apiKey: { verify: explode } }],
      ['verify rejects', { policy: once, by: 'client' }, { apiKey: { verify: reject } }],
      ['verify hangs', { policy: once, by: 'api-key' }, { apiKey: { verify: never } }],
      ['verify answers no id', { policy: once }, { apiKey: { verify: () => ({}) as never } }],
      ['verify answers an empty id', { policy: once }, { apiKey: { verify: () => ({ id: '' }) } }],
      ['user throws', { policy: once, by: 'user' }, { user: explode }],
      ['user answers an object', { policy: once, by: 'user' }, { user: () => ({}) as never }],
    ];

    it.each(faults.map(([fault, tier, who = identity]) => [fault, tier, who] as const))(
      '%s: closed answers 503, open admits, and it is logged (SEC-38, SEC-39, SEC-40)',
      async (_fault, tier, who) => {
        for (const [onStoreFailure, expected] of [
          ['closed', 503],
          ['open', 200],
        ] as const) {
          const { ask, log } = await startSearch({
            identity: who,
            resolverTimeoutMs: 5,
            tiers: [{ name: 'plan', onStoreFailure, ...tier } as TierOptions],
          });

          const { status, headers, body } = await ask('/find', key('sk-alice'));

          expect(status).toBe(expected);
          expect(headers).not.toHaveProperty('x-ratelimit-limit');
          expect(JSON.stringify(body)).not.toContain('exploded');
          expect(log.filter(({ level }) => level === 'error')).toEqual([
            { level: 'error', text: expect.stringContaining("tier 'plan' was not decided: ") },
          ]);
        }
      },
    );

    it('fails closed without numbers to count by, when the failure policy is local', async () => {
      const { ask } = await startSearch({ tiers: [plan(dynamic({ limit: explode }))] });

      expect((await ask('/find')).status).toBe(503);
    });

    it('holds per tier: another tier counts on beside an open one', async () => {
      const { admitted } = await startSearch({
        onStoreFailure: 'open',
        tiers: [plan({ cost: explode }), { name: 'other', policy: perMinute(2) }],
      });

      expect(await admitted('/find', 5)).toBe(2);
    });

    it('charges no other tier when one is closed (SEC-55)', async () => {
      let isBroken = true;
      const { ask, admitted } = await startSearch({
        onStoreFailure: 'closed',
        tiers: [
          plan({ policy: perMinute(9), cost: () => (isBroken ? explode() : 1) }),
          { name: 'other', policy: perMinute(2) },
        ],
      });
      expect(await admitted('/find', 5)).toBe(0);

      isBroken = false;

      expect((await ask('/find')).headers['x-ratelimit-remaining']).toBe('1');
    });

    it("skips nothing when the module's skip fails, and says so", async () => {
      const { admitted, log } = await startSearch({ skip: explode, tiers: [plan({})] });

      expect(await admitted('/find', 3)).toBe(1);
      expect(log.filter(({ level }) => level === 'error')).toEqual([
        { level: 'error', text: 'skip was not decided: resolver exploded' },
      ]);
    });
  });

  describe('exemptions', () => {
    it.each<[string, Options, string, Ask, number]>([
      ['an exempt address', { exempt: { ips: ['127.0.0.2'] } }, '/find', { from: '127.0.0.2' }, 3],
      ['an exempt range', { exempt: { ips: ['127.0.0.0/30'] } }, '/find', { from: '127.0.0.2' }, 3],
      [
        'an address beside the range',
        { exempt: { ips: ['127.0.0.0/31'] } },
        '/find',
        { from: '127.0.0.2' },
        1,
      ],
      [
        'an address that a header claims',
        { exempt: { ips: ['10.0.0.0/8'] } },
        '/find',
        forwarded('10.0.0.1'),
        1,
      ],
      ['an exempt path', { exempt: { paths: ['/find'] } }, '/find?x=1', {}, 3],
      ['a path under an exempt prefix', { exempt: { paths: ['/find/*'] } }, '/find', {}, 1],
      ['another spelling of an exempt path', { exempt: { paths: ['/find'] } }, '/find/', {}, 1],
      ['a path that begins like an exempt one', { exempt: { paths: ['/fin'] } }, '/find', {}, 1],
      ['an exempt path in a query', { exempt: { paths: ['/health'] } }, '/find?/health', {}, 1],
      [
        'skip of the module',
        { skip: ({ client }) => client.id === '127.0.0.2' },
        '/find',
        { from: '127.0.0.2' },
        3,
      ],
      ['skip that says no', { skip: () => false }, '/find', {}, 1],
      [
        'skip that answers something else than true',
        { skip: () => 'yes' as never },
        '/find',
        {},
        1,
      ],
    ])('%s', async (_what, rateLimit, path, ask, expected) => {
      for (const phase of ['edge', 'guard', 'handler'] as const) {
        const { admitted } = await startSearch({
          ...rateLimit,
          tiers: [plan({ phase, by: 'ip' })],
        });

        expect(await admitted(path, 3, ask)).toBe(expected);
      }
    });
  });
});
