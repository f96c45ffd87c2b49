import { request as httpRequest } from 'node:http';
import { Body, Controller, Get, Post, Res, Sse, type MessageEvent } from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import {
  RateLimit,
  RateLimitResult,
  type Decision,
  type HeaderFamily,
  type PolicyText,
  type TierOptions,
} from '../../src/index.js';
import { expectRefusal } from '../../src/testing/index.js';
import { eventually } from '../support/eventually.js';
import { START_MS, platforms, type RateLimit as Options } from '../support/platforms.js';

const once = 'fixed-window:1/1m' as const;
const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const tier = (policy: PolicyText, more: Partial<TierOptions> = {}): TierOptions => ({
  name: 'plan',
  policy,
  ...more,
});

const handled: string[] = [];
beforeEach(() => handled.splice(0));

/** The parts of Express's and Fastify's responses that stream. */
interface Streaming {
  raw?: Streaming;
  write(text: string): void;
  end(): void;
}

@Controller()
class Search {
  @Get('find') find() {
    handled.push('find');
    return { found: true };
  }
  @Get('results') results(@RateLimitResult() decisions: Decision[]) {
    return decisions;
  }
  @Get('result') @RateLimit({ name: 'own', policy: perMinute(3) }) own(
    @RateLimitResult() decisions: Decision[],
  ) {
    return decisions;
  }
  @Post('save') save(@Body() body: unknown) {
    handled.push(JSON.stringify(body));
  }
  @Sse('events') events(): Observable<MessageEvent> {
    return of({ data: 'one' }, { data: 'two' });
  }
  @Get('stream') stream(@Res() response: Streaming) {
    const raw = response.raw ?? response;
    raw.write('one,');
    raw.write('two');
    raw.end();
  }
}

const quota = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.includes('ratelimit')));

describe.each(platforms)('on $name', ({ start }) => {
  const startSearch = (rateLimit: Options, more: object = {}) =>
    start({ rateLimit, controllers: [Search], ...more });

  describe('headers', () => {
    const tiers = [
      tier('fixed-window:10/1h', { name: 'daily' }),
      tier(perMinute(2), { name: 'burst' }),
    ];

    // Contract 5: the lines as they are at half a second into a minute, 1200 s before the hour.
    const lines: [string, Options, object, object][] = [
      [
        'x-ratelimit, by default',
        {},
        {
          'x-ratelimit-limit': '2',
          'x-ratelimit-remaining': '1',
          'x-ratelimit-reset': '1764510060',
        },
        {
          'x-ratelimit-limit': '2',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1764510060',
        },
      ],
      [
        'x-ratelimit in seconds from now',
        { resetHeader: 'delta' },
        { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '60' },
        { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
      ],
      [
        'draft-6',
        { headers: ['draft-6'] },
        {
          'ratelimit-limit': '2',
          'ratelimit-remaining': '1',
          'ratelimit-reset': '60',
          'ratelimit-policy': '2;w=60',
        },
        {
          'ratelimit-limit': '2',
          'ratelimit-remaining': '0',
          'ratelimit-reset': '60',
          'ratelimit-policy': '2;w=60',
        },
      ],
      [
        'draft-7',
        { headers: ['draft-7'] },
        { ratelimit: 'limit=2, remaining=1, reset=60', 'ratelimit-policy': '2;w=60' },
        { ratelimit: 'limit=2, remaining=0, reset=60', 'ratelimit-policy': '2;w=60' },
      ],
      [
        'draft-8',
        { headers: ['draft-8'] },
        {
          ratelimit: '"daily";r=9;t=1200, "burst";r=1;t=60',
          'ratelimit-policy': '"daily";q=10;w=3600, "burst";q=2;w=60',
        },
        {
          ratelimit: '"daily";r=8;t=1200, "burst";r=0;t=60',
          'ratelimit-policy': '"daily";q=10;w=3600, "burst";q=2;w=60',
        },
      ],
      ['none', { headers: [] }, {}, {}],
    ];

    it.each(lines)('%s: on 200 and on 429', async (_family, options, on200, on429) => {
      const { ask, clock } = await startSearch({ ...options, tiers });
      clock.advance(500);

      const first = await ask('/find');
      await ask('/find');
      const refused = await ask('/find');

      expect(first.status).toBe(200);
      expect(quota(first.headers)).toEqual(on200);
      expect(first.headers).not.toHaveProperty('retry-after');
      expect(first.headers['cache-control']).toBeUndefined();
      expect(refused.status).toBe(429);
      expect(quota(refused.headers)).toEqual(on429);
      expect(refused.headers).toMatchObject({
        'retry-after': '60',
        'retry-after-ms': '59500',
        'cache-control': 'no-store',
      });
    });

    it('several families stand beside each other', async () => {
      const headers: HeaderFamily[] = ['x-ratelimit', 'draft-8'];
      const { ask } = await startSearch({ headers, tiers });

      expect(Object.keys(quota((await ask('/find')).headers)).toSorted()).toEqual([
        'ratelimit',
        'ratelimit-policy',
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
      ]);
    });

    it('one writer tells the tiers of every phase', async () => {
      const { ask } = await startSearch({
        headers: ['draft-8'],
        tiers: [
          tier(perMinute(9), { name: 'front', phase: 'edge' }),
          tier(perMinute(8), { name: 'plan' }),
          tier(perMinute(7), { name: 'late', phase: 'handler' }),
        ],
      });

      const { headers } = await ask('/find');

      expect(headers['ratelimit']).toBe('"front";r=8;t=60, "plan";r=7;t=60, "late";r=6;t=60');
    });

    it('escapes a tier name that has quotes (SEC-59)', async () => {
      const { ask } = await startSearch({
        headers: ['draft-8'],
        tiers: [tier(once, { name: 'a"b\\c' })],
      });

      expect((await ask('/find')).headers['ratelimit']).toBe('"a\\"b\\\\c";r=0;t=60');
    });

    it('describe the own quota only (SEC-61)', async () => {
      const { ask } = await startSearch({ tiers: [tier(perMinute(9))] });
      await ask('/find');

      const other = await ask('/find', { from: '127.0.0.2' });

      expect(other.headers['x-ratelimit-remaining']).toBe('8');
    });
  });

  describe('a refusal', () => {
    it('says when every refusing tier lets the request pass (user report 50)', async () => {
      const { ask } = await startSearch({
        tiers: [
          tier('sliding-window-log:1/10s', { name: 'fast' }),
          tier('sliding-window-log:1/1m', { name: 'slow' }),
          tier(perMinute(9), { name: 'roomy' }),
        ],
      });
      await ask('/find');

      const refused = await ask('/find');

      expectRefusal(refused, { retryAfter: 60 });
      expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(refused.body).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        detail:
          "Rate limit exceeded: tier 'fast' allows 1 request per 10s and tier 'slow' allows 1 request per 1m. Try again in 60 seconds.",
        'violated-policies': ['fast', 'slow'],
        retryAfterMs: 60_000,
        statusCode: 429,
        message: expect.stringContaining("tier 'fast'"),
      });
    });

    // Report E: waiting exactly as long as told is enough, and a millisecond less is not.
    it.each<PolicyText>([
      'fixed-window:3/1m',
      'sliding-window-log:3/1m',
      'sliding-window-counter:3/1m',
      'token-bucket:7/1m',
      'gcra:7/1m,burst=2',
      'leaky-bucket:7/1m,burst=1',
    ])('of %s ends exactly after retry-after-ms', async (policy) => {
      for (const phase of ['edge', 'guard'] as const) {
        const { ask, clock } = await startSearch({ tiers: [tier(policy, { phase, by: 'ip' })] });
        clock.advance(1_234);
        let refused = await ask('/find');
        for (let n = 0; refused.status === 200 && n < 9; n++) refused = await ask('/find');
        const waitMs = Number(refused.headers['retry-after-ms']);

        expectRefusal(refused, { retryAfter: Math.ceil(waitMs / 1_000) });
        clock.advance(waitMs - 1);
        expectRefusal(await ask('/find'), { retryAfter: 1 });
        clock.advance(1);
        expect((await ask('/find')).status).toBe(200);
      }
    });

    it.each([
      ['an object', { error: 'slow_down' }, { error: 'slow_down' }, /^application\/json/],
      [
        'a problem of its own',
        { type: 'about:blank' },
        { type: 'about:blank' },
        /^application\/problem\+json/,
      ],
      ['a text', 'slow down', { statusCode: 429, message: 'slow down' }, /^application\/json/],
    ])('has the body that the app makes of it: %s', async (_form, made, expected, contentType) => {
      for (const phase of ['edge', 'guard'] as const) {
        const body = jest.fn(() => made);
        const { ask } = await startSearch({ body, tiers: [tier(once, { phase, by: 'ip' })] });
        await ask('/find');

        const refused = await ask('/find');

        expectRefusal(refused, { retryAfter: 60 });
        expect(refused.body).toEqual(expected);
        expect(refused.headers['content-type']).toMatch(contentType);
        expect(body).toHaveBeenCalledWith(
          expect.objectContaining({
            status: 429,
            retryAfterMs: 60_000,
            violated: [expect.objectContaining({ name: 'plan' })],
          }),
        );
      }
    });

    it('is the usual one where the app fails to make another', async () => {
      for (const phase of ['edge', 'guard'] as const) {
        const body = () => {
          throw new Error('no template');
        };
        const { ask, log } = await startSearch({
          body,
          tiers: [tier(once, { phase, by: 'ip' })],
        });
        await ask('/find');

        const refused = await ask('/find');

        expectRefusal(refused, { retryAfter: 60 });
        expect(refused.body).toMatchObject({ status: 429, 'violated-policies': ['plan'] });
        expect(log.map(({ text }) => text)).toContainEqual(
          expect.stringContaining('body was not decided: no template'),
        );
      }
    });

    it('of a closed tier is a 503 that says nothing of the cause', async () => {
      for (const phase of ['edge', 'guard', 'handler'] as const) {
        const cost = () => {
          throw new Error('redis://user:secret@host');
        };
        const { ask } = await startSearch({
          tiers: [tier(once, { phase, by: 'ip', cost, onStoreFailure: 'closed' })],
        });

        const refused = await ask('/find');

        expectRefusal(refused, { status: 503, retryAfter: 1 });
        expect(quota(refused.headers)).toEqual({});
        expect(refused.body).toMatchObject({
          type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
          status: 503,
          statusCode: 503,
          'violated-policies': ['plan'],
        });
        expect(refused.text).not.toContain('secret');
      }
    });
  });

  describe('responses that stream', () => {
    const tiers = [tier(perMinute(2))];

    it('events carry the headers and are limited (SEC-60)', async () => {
      const { ask, admitted } = await startSearch({ tiers });

      const answer = await ask('/events');

      expect(answer.text).toContain('data: one');
      expect(answer.headers['x-ratelimit-remaining']).toBe('1');
      expect(await admitted('/events', 3)).toBe(1);
    });

    it('a handler that writes the response itself is limited (SEC-60)', async () => {
      const { ask, admitted } = await startSearch({ tiers });

      expect((await ask('/stream')).text).toBe('one,two');
      expect(await admitted('/stream', 3)).toBe(1);
    });

    it('headers that were sent already fail nothing (SEC-60)', async () => {
      const { ask } = await startSearch(
        { tiers: [tier(once)] },
        {
          prepare: (app: { use(middleware: unknown): void }) =>
            app.use((_request: unknown, response: Streaming, next: () => void) => {
              response.write('early,');
              next();
            }),
        },
      );

      expect((await ask('/stream')).text).toBe('early,one,two');
      expect((await ask('/stream')).text).toBe('early,');
    });
  });

  describe('the edge', () => {
    const tiers = [tier(perMinute(2), { name: 'front', phase: 'edge' })];

    it.each([
      ['unknown routes (user report 48)', '/nope', 'GET', undefined, 404],
      ['OPTIONS', '/find', 'OPTIONS', undefined, 404],
      ['HEAD', '/find', 'HEAD', undefined, 200],
      ['malformed bodies', '/save', 'POST', '{"a":', 400],
      ['an encoded slash', '/%2Ffind', 'GET', undefined, 404],
    ])(
      'counts %s, with what they would have been answered',
      async (_what, path, method, body, status) => {
        const { ask } = await startSearch({ tiers });
        const asked =
          body === undefined
            ? { method }
            : { method, body, headers: { 'content-type': 'application/json' } };

        const first = await ask(path, asked);
        await ask(path, asked);

        expect([first.status, first.headers['x-ratelimit-remaining']]).toEqual([status, '1']);
        expectRefusal(await ask(path, asked), { retryAfter: 60 });
      },
    );

    it('refuses before the body is read, and closes the connection', async () => {
      const { ask, port } = await startSearch({ tiers });
      for (let n = 0; n < 2; n++) await ask('/nope');

      const status = await new Promise<unknown[]>((resolve, reject) => {
        const headers = {
          'content-type': 'application/json',
          'content-length': 1_000_000,
          connection: 'keep-alive',
        };
        const request = httpRequest({ port, path: '/save', method: 'POST', headers, agent: false });
        request.on('response', ({ statusCode, headers: { connection } }) => {
          resolve([statusCode, connection]);
          request.destroy();
        });
        request.on('error', reject);
        request.flushHeaders();
      });

      expect(status).toEqual([429, 'close']);
      expect(handled).toEqual([]);
    });

    it('answers as the guard does', async () => {
      const answers = [];
      for (const phase of ['edge', 'guard'] as const) {
        const { ask } = await startSearch({ tiers: [tier(once, { phase, by: 'ip' })] });
        await ask('/find');
        const { status, body, headers } = await ask('/find');
        const { date: _date, connection: _connection, 'content-type': type, ...rest } = headers;
        for (const own of [
          'x-powered-by',
          'etag',
          'content-length',
          'transfer-encoding',
          'keep-alive',
        ])
          delete rest[own];
        answers.push({ status, body, rest, type: type?.split(';')[0] });
      }

      expect(answers[0]).toEqual(answers[1]);
    });

    it('is charged once beside the tiers of the guard', async () => {
      const { ask, admitted } = await startSearch({
        headers: ['draft-8'],
        tiers: [...tiers, tier(perMinute(9), { name: 'plan' })],
      });

      expect((await ask('/find')).headers['ratelimit']).toBe('"front";r=1;t=60, "plan";r=8;t=60');
      expect(await admitted('/find', 3)).toBe(1);
    });
  });

  describe('a leaky bucket', () => {
    const tiers = [tier('leaky-bucket:60/1m')];

    it('holds the handler back until its turn', async () => {
      const { ask, clock } = await startSearch({ tiers });
      await ask('/find');

      const second = ask('/find');
      await eventually('the second is held', async () => clock.sleeping === 1);
      clock.advance(999);
      await ask('/nope');
      expect(handled).toEqual(['find']);

      clock.advance(1);
      expect((await second).status).toBe(200);
      expect(handled).toEqual(['find', 'find']);
    });

    it('lets nobody wait longer than maxDelay', async () => {
      const { ask, clock } = await startSearch({
        tiers: [tier('leaky-bucket:60/1m,burst=60,maxDelay=1s')],
      });
      await ask('/find');
      const second = ask('/find');
      await eventually('the second is held', async () => clock.sleeping === 1);

      expectRefusal(await ask('/find'), { retryAfter: 1 });
      clock.advance(1_000);
      expect((await second).status).toBe(200);
    });

    it('does not hold a caller for a shadow tier', async () => {
      const { admitted } = await startSearch({
        tiers: [tier('leaky-bucket:60/1m', { mode: 'shadow' })],
      });

      expect(await admitted('/find', 3)).toBe(3);
    });

    it('stops waiting when the client has gone, and the handler never runs', async () => {
      const { ask, clock, port } = await startSearch({ tiers });
      await ask('/find');
      const leaving = httpRequest({ port, path: '/find', agent: false }).end();
      leaving.on('error', () => undefined);
      await eventually('the caller is held', async () => clock.sleeping === 1);

      leaving.destroy();
      await eventually('nobody is held', async () => clock.sleeping === 0);
      clock.advance(60_000);
      await ask('/nope');

      expect(handled).toEqual(['find']);
    });

    it('does not begin to wait for a client that has gone before', async () => {
      let isAsked = false;
      let answer = (): void => undefined;
      const cost = ({ request }: { request: any }): number | Promise<number> => {
        if (request.headers['x-slow'] === undefined) return 1;
        isAsked = true;
        return new Promise((resolve) => (answer = () => resolve(1)));
      };
      const closed = jest.fn();
      const { app, ask, clock, port } = await startSearch({
        tiers: [tier('leaky-bucket:60/1m', { cost })],
      });
      await ask('/find');
      const leaving = httpRequest({
        port,
        path: '/find',
        headers: { 'x-slow': '1' },
        agent: false,
      }).end();
      leaving.on('error', () => undefined);
      await eventually('its cost is asked for', async () => isAsked);

      app.getHttpServer().getConnections(() => undefined);
      leaving.on('close', closed).destroy();
      await eventually('it is gone', async () => closed.mock.calls.length === 1);
      // A whole exchange later the server has seen it too.
      await ask('/nope');
      answer();
      await ask('/nope');
      clock.advance(60_000);
      await ask('/nope');

      expect(handled).toEqual(['find']);
    });
  });

  describe('shadow tiers', () => {
    it.each(['edge', 'guard', 'handler'] as const)(
      'refuse nothing in the %s phase, and say what they would have refused',
      async (phase) => {
        const { ask, admitted, log } = await startSearch({
          headers: ['draft-8'],
          tiers: [
            tier(perMinute(1), { name: 'trial', mode: 'shadow', phase, by: 'ip' }),
            tier(perMinute(9), { name: 'plan', phase, by: 'ip' }),
          ],
        });

        expect(await admitted('/find', 3)).toBe(3);
        expect((await ask('/find')).headers['ratelimit']).toBe('"plan";r=5;t=60');
        expect(log).toEqual([
          {
            level: 'log',
            text: expect.stringMatching(
              /^would refuse ip #[\w-]{10}: tier 'trial', limit 1, cost 1, passes in 60000 ms/,
            ),
          },
        ]);
      },
    );

    it('do not fail closed', async () => {
      const cost = () => NaN;
      const { ask } = await startSearch({
        tiers: [tier(once, { mode: 'shadow', cost, onStoreFailure: 'closed' })],
      });

      expect((await ask('/find')).status).toBe(200);
    });
  });

  describe('@RateLimitResult', () => {
    it('gives the handler the decisions of all phases, shadows too', async () => {
      const { ask } = await startSearch({
        tiers: [
          tier(perMinute(9), { name: 'front', phase: 'edge' }),
          tier(perMinute(8), { name: 'trial', mode: 'shadow' }),
          tier(perMinute(7), { name: 'late', phase: 'handler' }),
        ],
      });

      const { body } = await ask('/result');

      const decisions = body as Decision[];
      expect(decisions.map(({ policy, remaining }) => [policy, remaining])).toEqual([
        ['front', 8],
        ['trial', 7],
        ['own', 2],
        ['late', 6],
      ]);
      expect(decisions[2]).toEqual({
        policy: 'own',
        allowed: true,
        limit: 3,
        remaining: 2,
        retryAfterMs: 0,
        resetAfterMs: 60_000,
        delayMs: 0,
        source: 'memory',
      });
    });

    it('is empty where nothing was decided', async () => {
      const { ask } = await startSearch({});

      expect((await ask('/results')).body).toEqual([]);
    });
  });

  describe('the log', () => {
    const secretKey = 'sk_live_51H8';
    const identity: Options['identity'] = {
      apiKey: { verify: (key) => (key === secretKey ? { id: 'acme' } : null) },
      user: (request: { headers: Record<string, string | undefined> }) => request.headers['x-user'],
    };

    it('has no numbers where nobody could count', async () => {
      const limit = () => Promise.reject(new Error('the database of plans is away'));
      const dynamic = { name: 'plan', algorithm: 'gcra', limit, window: '1m' } as const;
      const { ask, log } = await startSearch({ tiers: [{ ...dynamic, onStoreFailure: 'closed' }] });

      expect((await ask('/find')).status).toBe(503);

      expect(log.at(-1)!.text).toMatch(
        /^refused ip #[\w-]{10}: tier 'plan', which nobody can count now \(closed\)$/,
      );
    });

    it.each<[string, Options['identity'], Record<string, string>, RegExp]>([
      [
        'the id of a verified key',
        identity,
        { 'x-api-key': secretKey },
        /^refused api-key "acme": /,
      ],
      ['an address as a hash', identity, {}, /^refused ip #[\w-]{10}: /],
      [
        'the address of a made-up key',
        identity,
        { 'x-api-key': 'sk_live_wrong' },
        /^refused ip #[\w-]{10}: /,
      ],
      ['a user as a hash', identity, { 'x-user': 'ann@example.org' }, /^refused user #[\w-]{10}: /],
      [
        'an address when asked to',
        { ...identity, logIdentity: true },
        {},
        /^refused ip "127\.0\.0\.1": /,
      ],
      [
        'a user when asked to',
        { ...identity, logIdentity: true },
        { 'x-user': 'ann' },
        /^refused user "ann": /,
      ],
      [
        'a trusted key as a hash',
        { apiKey: { trusted: true } },
        { 'x-api-key': 'sk_live_gate' },
        /^refused api-key #[\w-]{10}: /,
      ],
    ])('has one line for a refusal, with %s', async (_who, who, headers, line) => {
      const { ask, log } = await startSearch({ identity: who, tiers: [tier(once)] });

      const answers = [];
      for (let n = 0; n < 4; n++) answers.push(await ask('/find', { headers }));

      expect(log).toEqual([{ level: 'log', text: expect.stringMatching(line) }]);
      expect(log[0]!.text).toMatch(
        /: tier 'plan', limit 1, cost 1, passes in 60000 ms \(memory\)$/,
      );
      expect(JSON.stringify([log, answers])).not.toMatch(/sk_live|example\.org/);
    });

    it('says it again a minute later', async () => {
      const { admitted, clock, log } = await startSearch({ tiers: [tier('fixed-window:1/1h')] });

      await admitted('/find', 3);
      clock.advance(60_000);
      await admitted('/find', 3);

      expect(log).toHaveLength(2);
    });

    it.each([
      ['an id', { apiKey: { verify: () => ({ id: 'a\r\nfake line\u001b[31m\u202e\u0085' }) } }, {}],
      [
        'an error',
        { user: () => Promise.reject(new Error('a\r\nfake line\u001b[31m\u202e\u0085')) },
        { onStoreFailure: 'closed' },
      ],
    ] as const)('escapes the control characters of %s (SEC-58)', async (_what, who, more) => {
      const { admitted, log } = await startSearch({ identity: who, tiers: [tier(once)], ...more });

      await admitted('/find', 2, { headers: { 'x-api-key': 'any' } });

      expect(log[0]!.text).toContain('fake line');
      expect(log.map(({ text }) => text).join('')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    });

    it('does not repeat a key that an error of verify names (SEC-57)', async () => {
      const verify = (key: string) => {
        throw new Error(`no row for ${key}`);
      };
      const { ask, log } = await startSearch({
        identity: { apiKey: { verify } },
        tiers: [tier(once)],
      });

      const { text } = await ask('/find', { headers: { 'x-api-key': secretKey } });

      expect(log).toHaveLength(1);
      expect(JSON.stringify([log, text])).not.toContain(secretKey);
    });
  });

  it('counts on the clock it was given', async () => {
    const { clock } = await startSearch({});

    expect(clock.now()).toBe(START_MS);
  });
});
