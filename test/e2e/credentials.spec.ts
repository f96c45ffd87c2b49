import { Controller, Get } from '@nestjs/common';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import {
  LimiterService,
  RATE_LIMIT_REDIS,
  type ApiKeyOptions,
  type TierOptions,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { platforms, type Ask, type RateLimit, type RunningApp } from '../support/platforms.js';
import { RedisServer } from '../support/redis-server.js';

const HOLDERS: Record<string, { id: string }> = {
  'sk-alice': { id: 'alice' },
  'sk-alice-2': { id: 'alice' },
  'sk-bob': { id: 'bob' },
};
const find = (key: string) => HOLDERS[key] ?? null;
const key = (value: string | string[]): Ask => ({ headers: { 'x-api-key': value } });
const perHour = (limit: number) => `fixed-window:${limit}/1h` as const;

@Controller()
class Search {
  @Get('find') find() {}
}

/** A request with whatever a caller may have put in it. */
interface Asked {
  readonly headers: Record<string, string | undefined>;
  readonly query: Record<string, string | undefined>;
}

describe.each(platforms)('credentials, on $name', ({ start }) => {
  const startSearch = (apiKey: ApiKeyOptions, more: RateLimit = {}) =>
    start({
      rateLimit: {
        tiers: [{ name: 'plan', policy: perHour(100) }],
        ...more,
        identity: { apiKey, ...more.identity },
      },
      controllers: [Search],
    });

  describe('what verify answers', () => {
    const asking = (verify: (key: string) => unknown) => {
      const asked: string[] = [];
      const ask = (given: string) => (asked.push(given), verify(given));
      return { asked, verify: ask as NonNullable<ApiKeyOptions['verify']> };
    };

    it.each([
      ['a key with a holder', 'sk-alice'],
      ['a key that is nobody’s', 'made-up'],
    ])('holds for five seconds: %s', async (_what, given) => {
      const { asked, verify } = asking(async (sent) => find(sent));
      const { ask, clock } = await startSearch({ verify });

      for (let n = 0; n < 5; n++) await ask('/find', key(given));
      clock.advance(4_999);
      await ask('/find', key(given));
      expect(asked).toEqual([given]);

      clock.advance(1);
      await ask('/find', key(given));
      expect(asked).toEqual([given, given]);
    });

    it('is asked for once by requests that come together', async () => {
      let answer!: () => void;
      const gate = new Promise<void>((resolve) => (answer = resolve));
      const { asked, verify } = asking(async (given) => {
        await gate;
        return find(given);
      });
      const { ask } = await startSearch({ verify });

      const all = Array.from({ length: 20 }, (_, n) =>
        ask('/find', key(n % 2 === 0 ? 'sk-alice' : 'made-up')),
      );
      await eventually('both keys are asked for', async () => asked.length === 2);
      answer();
      const answers = await Promise.all(all);

      expect(asked.toSorted()).toEqual(['made-up', 'sk-alice']);
      const least = (parity: number) =>
        Math.min(
          ...answers
            .filter((_, n) => n % 2 === parity)
            .map(({ headers }) => Number(headers['x-ratelimit-remaining'])),
        );
      expect([least(0), least(1)]).toEqual([90, 90]);
    });

    it('is revoked as soon as maxAge is over', async () => {
      const held = new Set(['sk-alice']);
      const { ask, clock } = await startSearch(
        { verify: (given) => (held.has(given) ? find(given) : null), cache: { maxAge: '1m' } },
        { tiers: [{ name: 'plan', by: 'api-key', policy: perHour(5) }] },
      );
      const remaining = async () =>
        (await ask('/find', key('sk-alice'))).headers['x-ratelimit-remaining'];

      expect(await remaining()).toBe('4');
      held.clear();
      clock.advance(59_999);
      expect(await remaining()).toBe('3');
      clock.advance(1);
      // Charged to the address.
      expect(await remaining()).toBe('4');
    });

    it.each<[string, () => unknown]>([
      [
        'throws',
        () => {
          throw new Error('broken');
        },
      ],
      ['rejects', () => Promise.reject(new Error('broken'))],
      ['hangs', () => new Promise(() => undefined)],
      ['answers no holder', () => ({})],
    ])('is not kept when verify %s', async (_how, fail) => {
      let isBroken = true;
      const { asked, verify } = asking((given) => (isBroken ? fail() : find(given)));
      const { ask } = await startSearch(
        { verify },
        { onStoreFailure: 'closed', resolverTimeoutMs: 20 },
      );

      expect((await ask('/find', key('sk-alice'))).status).toBe(503);
      isBroken = false;

      expect((await ask('/find', key('sk-alice'))).status).toBe(200);
      expect(asked).toHaveLength(2);
    });

    it.each<[string, ApiKeyOptions]>([
      ['cache is false', { cache: false }],
      ['it depends on the request', {}],
    ])('is asked for by each request, and is shown it, when %s', async (_when, options) => {
      const asked: unknown[] = [];
      const verify = (given: string, request: Asked) => {
        asked.push(request.headers['x-api-key']);
        return find(given);
      };
      const { ask } = await startSearch({ verify, ...options });

      for (let n = 0; n < 3; n++) await ask('/find', key('sk-alice'));

      expect(asked).toEqual(['sk-alice', 'sk-alice', 'sk-alice']);
    });

    it('depends on the key alone when it is kept: verify is not shown a request', async () => {
      const shown: unknown[] = [];
      const verify = (...all: [string, unknown?]) => (shown.push(all[1]), find(all[0]));
      const { ask } = await startSearch({ verify });

      await ask('/find', key('sk-alice'));

      expect(shown).toEqual([undefined]);
    });

    it('may be a promise of another library', async () => {
      // That of another realm is no instance of ours, as those of query builders are not.
      const OtherPromise = runInNewContext('Promise') as PromiseConstructor;
      const { ask } = await startSearch(
        { verify: (given) => OtherPromise.resolve(find(given)) },
        { tiers: [{ name: 'plan', by: 'api-key', policy: perHour(1) }] },
      );

      expect((await ask('/find', key('sk-alice'))).status).toBe(200);
      expect((await ask('/find', key('sk-alice-2'))).status).toBe(429);
      // Who could not be told would be counted by the address that all have.
      expect((await ask('/find', key('sk-bob'))).status).toBe(200);
    });
  });

  // One request with the first, then one with the second: 429 when both count for one client.
  describe('one key a request', () => {
    const fromAnywhere = {
      from: ({ headers, query }: Asked): string | undefined =>
        /^Bearer +(.+)$/i.exec(headers['authorization'] ?? '')?.[1]?.trim() ??
        headers['x-api-key'] ??
        query['api_key'],
      verify: (given: string) => find(given.toLowerCase()),
    };
    const bearer = (value: string): Ask => ({ headers: { authorization: value } });
    const header: ApiKeyOptions = { verify: find };

    it.each<[string, ApiKeyOptions, [string, Ask], [string, Ask], 200 | 429]>([
      [
        'case of the name',
        header,
        ['', key('sk-bob')],
        ['', { headers: { 'X-API-KEY': 'sk-bob' } }],
        429,
      ],
      ['spaces around', header, ['', key('sk-bob')], ['', key('  sk-bob\t')], 429],
      ['case that verify ignores', fromAnywhere, ['', key('sk-bob')], ['', key('SK-Bob')], 429],
      ['Bearer', fromAnywhere, ['', key('sk-bob')], ['', bearer('Bearer sk-bob')], 429],
      [
        'bearer, and spaces',
        fromAnywhere,
        ['', bearer('Bearer sk-bob')],
        ['', bearer('bearer   sk-bob')],
        429,
      ],
      ['a query', fromAnywhere, ['', key('sk-bob')], ['?api_key=sk-bob', {}], 429],
      ['an escaped query', fromAnywhere, ['', key('sk-bob')], ['?api_key=%73k-bob', {}], 429],
      // Letter by letter, where no one has verified it here
      ['case, trusted', { trusted: true }, ['', key('sk-bob')], ['', key('SK-BOB')], 200],
      [
        'a query beside a header',
        header,
        ['', key('sk-bob')],
        ['?api_key=sk-alice&x-api-key=sk-alice', key('sk-bob')],
        429,
      ],
      ['a query alone, which is not looked at', header, ['', {}], ['?x-api-key=sk-alice', {}], 429],
      [
        'a cookie beside a header',
        header,
        ['', key('sk-bob')],
        ['', { headers: { 'x-api-key': 'sk-bob', cookie: 'x-api-key=sk-alice' } }],
        429,
      ],
      ['two header lines', header, ['', {}], ['', key(['sk-alice', 'sk-bob'])], 429],
      ['two equal header lines', header, ['', {}], ['', key(['sk-bob', 'sk-bob'])], 429],
      ['a comma', header, ['', {}], ['', key('sk-alice, sk-bob')], 429],
      [
        'two Authorization lines, of which Node keeps the first',
        fromAnywhere,
        ['', key('sk-bob')],
        ['', { headers: { authorization: ['Bearer sk-bob', 'Bearer sk-alice'] } }],
        429,
      ],
      ['a scheme without a key', fromAnywhere, ['', {}], ['', bearer('Bearer ')], 429],
      ['another scheme', fromAnywhere, ['', {}], ['', bearer('Basic sk-bob')], 429],
      ['an array', fromAnywhere, ['', {}], ['?api_key=sk-alice&api_key=sk-bob', {}], 429],
      [
        'the name of what all objects have',
        { verify: find, header: 'constructor' },
        ['', {}],
        ['', {}],
        429,
      ],
      [
        'a key that all objects have',
        { verify: (given) => (Object.hasOwn(HOLDERS, given) ? find(given) : null) },
        ['', {}],
        ['', key('__proto__')],
        429,
      ],
    ])(
      'counts as documented: %s (SEC-18, SEC-19)',
      async (_what, apiKey, [firstQuery, first], [secondQuery, second], status) => {
        const { ask } = await startSearch(apiKey, {
          tiers: [{ name: 'plan', policy: perHour(1) }],
        });

        expect((await ask(`/find${firstQuery}`, first)).status).toBe(200);
        expect((await ask(`/find${secondQuery}`, second)).status).toBe(status);
      },
    );

    it.each<[string, unknown]>([
      ['an array', ['sk-alice']],
      ['an object', { x: 'sk-alice' }],
      ['a number', 5],
      ['true', true],
      ['a String object', Object('sk-alice')],
      ['a Buffer', Buffer.from('sk-alice')],
    ])('is nobody’s and not verified when it is %s (SEC-19)', async (_what, found) => {
      const verify = jest.fn((given: string) => find(given));
      const { ask } = await startSearch(
        { from: () => found as string, verify },
        { tiers: [byClient(1)] },
      );

      expect((await ask('/find')).status).toBe(200);
      expect((await ask('/find')).status).toBe(429);
      expect((await ask('/find', { from: '127.0.0.2' })).status).toBe(200);
      expect(verify).not.toHaveBeenCalled();
    });

    it('leaves a victim’s quota alone, whoever names it (SEC-17)', async () => {
      const { ask } = await startSearch({ verify: find }, { tiers: [byClient(3)] });
      const attempts: Record<string, string>[] = [
        { 'x-user-id': 'alice' },
        { 'x-api-key': 'alice' },
        { 'x-api-key': 'sk-alice\u00a0' },
        { 'x-api-key': 'SK-ALICE' },
        { 'x-client-id': 'api-key:alice' },
      ];
      for (const headers of attempts) await ask('/find', { headers });

      expect((await ask('/find', key('sk-alice'))).headers['x-ratelimit-remaining']).toBe('2');
    });

    it('is not looked up for an address that has guessed too often (SEC-21)', async () => {
      const verify = jest.fn((given: string) => find(given));
      const { ask } = await startSearch(
        { verify },
        {
          tiers: [{ name: 'guesses', by: 'ip', policy: perHour(3) }, byClient(100)],
        },
      );
      const statuses = [];
      for (let n = 0; n < 20; n++) statuses.push((await ask('/find', key(`guess-${n}`))).status);

      expect(statuses.filter((status) => status === 200)).toHaveLength(3);
      expect(verify).toHaveBeenCalledTimes(3);
      expect((await ask('/find', { ...key('sk-alice'), from: '127.0.0.2' })).status).toBe(200);
    });

    it('makes no quota of 300 made-up keys (SEC-16)', async () => {
      const { ask } = await startSearch({ verify: find }, { tiers: [byClient(10)] });

      let admitted = 0;
      for (let n = 0; n < 300; n++) {
        if ((await ask('/find', key(`sk-guess-${n}`))).status === 200) admitted++;
      }

      expect(admitted).toBe(10);
    });
  });

  describe('with Redis', () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(() => server.stop());

    const SECRETS = {
      key: 'sk_live_51HxSecret',
      holder: 'customer-4711',
      user: 'ada@example.org',
      ip: '127.0.0.3',
      name: '+44-7700-900123',
    };
    const identity: RateLimit['identity'] = {
      apiKey: { verify: (given) => (given === SECRETS.key ? { id: SECRETS.holder } : null) },
      user: (request: Asked) => request.headers['x-user'],
      secret: '0123456789abcdef',
    };
    const tiers: TierOptions[] = [
      { name: 'front', by: 'ip', policy: perHour(1_000), phase: 'edge' },
      byClient(3),
      { name: 'account', by: 'user', policy: perHour(3) },
      { name: 'phone', by: () => SECRETS.name, policy: 'token-bucket:100/1h' },
    ];
    const askAll = async ({ ask }: RunningApp) => {
      const callers: Record<string, string>[] = [
        { 'x-api-key': SECRETS.key },
        { 'x-api-key': `${SECRETS.key}-guess` },
        { 'x-user': SECRETS.user },
        {},
      ];
      for (const headers of callers) {
        for (let n = 0; n < 5; n++) await ask('/find', { headers, from: SECRETS.ip });
      }
    };

    it('shows Redis nothing of who is counted, in keys, values and commands (SEC-56)', async () => {
      const running = await startSearch(
        {},
        { redis: server.url, prefix: 'quiet', tiers, identity },
      );
      const redis = running.app.get<Redis>(RATE_LIMIT_REDIS);
      const seen: string[] = [];
      const observer = new Redis(server.url);
      const monitor = await observer.monitor();
      monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')));

      await askAll(running);
      const limiter = running.app.get(LimiterService);
      await limiter.consume('client', { kind: 'user', id: SECRETS.user });
      await limiter.block('client', { kind: 'api-key', id: SECRETS.holder }, '1m');
      await redis.ping('the last');
      await eventually('all commands are seen', async () =>
        seen.some((command) => command.includes('the last')),
      );
      monitor.disconnect();
      observer.disconnect();

      const stored = await everythingIn(redis, 'quiet');
      expect(seen.filter((command) => /^evalsha/i.test(command)).length).toBeGreaterThan(20);
      expect(stored.length).toBeGreaterThan(5);
      for (const secret of Object.values(SECRETS)) {
        for (const form of formsOf(secret)) {
          expect(stored.filter((text) => text.includes(form))).toEqual([]);
          expect(seen.filter((text) => text.includes(form))).toEqual([]);
        }
      }
    });

    it('keeps keys of one length, whatever ids are (SEC-25)', async () => {
      const { app } = await startSearch(
        { verify: find },
        { redis: server.url, prefix: 'long', tiers: [byClient(3)], timeoutMs: 2_000 },
      );
      const limiter = app.get(LimiterService);
      const ids = ['a', 'x'.repeat(65_536), '限'.repeat(2 ** 20), '}{x', '{', '\0', 'long{mm}:x'];

      for (const id of ids) await limiter.consume('client', { kind: 'user', id });
      for (const id of ids) await limiter.consume({ name: 'own', policy: 'gcra:9/1m' }, id);

      const keys = await scan(app.get(RATE_LIMIT_REDIS), 'long');
      expect(keys).toHaveLength(2 * ids.length);
      for (const each of keys) expect(each).toMatch(/^long\{\w\w\}:[\w-]{22}$/);
    });

    describe('at any level of the log, whatever fails (SEC-57)', () => {
      let failing: RedisServer;
      let admin: Redis;
      beforeAll(async () => {
        failing = await RedisServer.start({ args: ['--requirepass', 'hunter2'] });
        admin = new Redis(urlOf(failing), { disconnectTimeout: 50 });
      });
      afterAll(async () => {
        admin.disconnect();
        await failing.stop();
      });
      const urlOf = ({ host, port }: RedisServer) => `redis://:hunter2@${host}:${port}`;

      it('says nothing of who is counted, nor what errors of a client hold', async () => {
        const said: string[] = [];
        const thrown: unknown[] = [];
        const say = (...all: unknown[]) => void said.push(inspect(all, { depth: 9 }));
        const running = await start({
          rateLimit: { redis: urlOf(failing), prefix: 'faults', tiers, identity, timeoutMs: 50 },
          controllers: [Search],
          prepare: (app) =>
            app.useLogger({
              log: say,
              error: say,
              warn: say,
              debug: say,
              verbose: say,
              fatal: say,
            }),
        });
        const limiter = running.app.get(LimiterService);
        const client = { kind: 'user', id: SECRETS.user } as const;
        const misuses = [
          () => limiter.consume('client', client),
          () => limiter.consume('client', client, { cost: -1 }),
          () => limiter.consume('clients', client),
          () => limiter.consume({ name: 'own' } as never, client),
        ];
        const deny = () => admin.acl('SETUSER', 'default', '-evalsha', '-eval');
        const allow = () => admin.acl('SETUSER', 'default', '+@all');

        // Each fault, with requests in it and a recovery after it.
        const faults: [() => unknown, () => unknown][] = [
          [() => undefined, () => undefined],
          [() => poison(admin, 'faults'), () => admin.flushall()],
          [deny, allow],
          [
            () => admin.config('SET', 'maxmemory', '1'),
            () => admin.config('SET', 'maxmemory', '0'),
          ],
          [() => failing.pause(), () => failing.resume()],
          [() => failing.kill(), () => undefined],
        ];
        for (const [begin, end] of faults) {
          await begin();
          await askAll(running);
          for (const misuse of misuses) {
            try {
              await misuse();
            } catch (error) {
              thrown.push(error);
            }
          }
          await end();
        }

        const told = [...said, ...thrown.map((error) => inspect(error, { depth: 9 }))].join('\n');
        expect(told).toContain('the store is away');
        expect(told).toContain('refused');
        expect(thrown).toHaveLength(3 * faults.length);
        // Operators are to tell customers by the holder's id.
        const { holder: _told, ...hidden } = SECRETS;
        for (const secret of [...Object.values(hidden), 'hunter2', '0123456789abcdef']) {
          expect(told).not.toContain(secret);
        }
        expect(told).not.toMatch(/faults\{|args:|command:/);
      });
    });
  });

  describe('the secret', () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(() => server.stop());

    const MISSING = /identity\.secret is missing: keys in Redis are hashed without a secret/;
    const WEAK = /identity\.secret has \d+ bytes, few enough to try them all/;

    it.each<[string, { secret?: string; isInProcess?: boolean; enabled?: boolean }, RegExp[]]>([
      ['is missing', {}, [MISSING]],
      ['is weak', { secret: 'hunter2' }, [WEAK]],
      ['is as weak as it has bytes', { secret: 'x'.repeat(15) }, [WEAK]],
      ['is long enough', { secret: 'é'.repeat(8) }, []],
      ['is missing, and nothing is in Redis', { isInProcess: true }, []],
      ['is weak, and nothing is in Redis', { secret: 'hunter2', isInProcess: true }, []],
      ['is missing, and nothing is counted', { enabled: false }, []],
    ])('is warned of once when it %s (SEC-56)', async (_when, options, warnings) => {
      const { secret, isInProcess = false, enabled = true } = options;
      const { ask, log } = await start({
        rateLimit: {
          ...(isInProcess ? {} : { redis: server.url }),
          identity: secret === undefined ? {} : { secret },
          tiers: [byClient(3)],
          enabled,
        },
        controllers: [Search],
      });

      for (let n = 0; n < 2; n++) await ask('/find');

      const said = log.filter(({ level }) => level === 'warn').map(({ text }) => text);
      expect(said).toHaveLength(warnings.length);
      for (const [index, warning] of warnings.entries()) expect(said[index]).toMatch(warning);
      expect(said.join()).not.toContain('hunter2');
    });
  });
});

function byClient(limit: number): TierOptions {
  return { name: 'client', policy: perHour(limit) };
}

/** As it is, and as a careless writer might have disguised it. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, secret.toUpperCase(), bytes.toString('hex'), bytes.toString('base64url')];
}

async function scan(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${prefix}{*`, 'COUNT', 100);
    keys.push(...found);
    cursor = next;
  } while (cursor !== '0');
  return keys;
}

/** Keys, and their values as Redis would dump them. */
async function everythingIn(redis: Redis, prefix: string): Promise<string[]> {
  const keys = await scan(redis, prefix);
  const values = await Promise.all(keys.map((each) => redis.dumpBuffer(each)));
  return [...keys, ...values.map((value) => value.toString('latin1'))];
}

/** Puts another type of value under every key. */
async function poison(redis: Redis, prefix: string): Promise<void> {
  for (const each of await scan(redis, prefix)) {
    await redis.del(each);
    await redis.lpush(each, 'x');
  }
}
