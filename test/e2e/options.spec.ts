import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RateLimitConfigurationError, RateLimitModule } from '../../src/index.js';
import { bootError } from '../support/platforms.js';

const once = 'fixed-window:1/1m';
const tier = (more: object) => ({ tiers: [{ name: 'plan', policy: once, ...more }] });
const numbers = (more: object) => ({
  tiers: [{ name: 'plan', algorithm: 'gcra', limit: 10, window: '1m', ...more }],
});
const verify = () => null;

const TIERS_KNOWN =
  'name, by, cost, phase, mode, onStoreFailure, skip, algorithm, limit, window, burst, maxDelay, policy';
const LIMITS = 'a whole number from 0 to 9007199254740991';
const ALGORITHMS =
  "one of 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket', 'gcra', 'leaky-bucket'";
const DURATION =
  "a duration: whole milliseconds from 1 to 2^53 - 1, or text such as '500ms', '10s', '1m', '2h' or '30d'";
const FAMILIES = "one of 'x-ratelimit', 'draft-6', 'draft-7', 'draft-8'";

// [options, the one message after 'RateLimit: ']
const rows: [unknown, string][] = [
  // the whole
  [null, 'options: received null, expected an object'],
  [[], 'options: received an empty array, expected an object'],
  ['redis://localhost', "options: received 'redis://localhost', expected an object"],
  [{ tires: [] }, "options: unknown option 'tires'; did you mean 'tiers'?"],
  [
    { onStoreFailed: 'open' },
    "options: unknown option 'onStoreFailed'; did you mean 'onStoreFailure'?",
  ],
  [
    { redis: 'http://user:hunter2@x' },
    "redis: received text that is no Redis URL, expected 'redis://host:port' or 'rediss://host:port'",
  ],
  [
    { redis: 'user:hunter2@x' },
    "redis: received text that is no Redis URL, expected 'redis://host:port' or 'rediss://host:port'",
  ],
  [
    { redis: '' },
    "redis: received text that is no Redis URL, expected 'redis://host:port' or 'rediss://host:port'",
  ],
  [
    { redis: 6379 },
    'redis: received 6379, expected a Redis URL, connection options, a cluster or a client; leave it out to count in this process',
  ],
  [
    { redis: true },
    'redis: received true, expected a Redis URL, connection options, a cluster or a client; leave it out to count in this process',
  ],
  [
    { redis: ['redis://:hunter2@x'] },
    'redis: received an array, expected a Redis URL, connection options, a cluster or a client; leave it out to count in this process',
  ],
  [
    { redis: { eval() {}, evalSha() {} } },
    'redis: received an object, expected a client with eval and evalsha, or a ScriptRunner; wrap a node-redis client: fromNodeRedis(client)',
  ],
  [{ store: {} }, 'store: received an object, expected a RateLimitStore'],
  [{ store: 'redis' }, "store: received 'redis', expected a RateLimitStore"],
  [
    { store: { decide() {} }, redis: 'redis://localhost' },
    'store: is given beside redis, expected one or neither',
  ],
  // scalars
  ...['', 'a b', 'a{b}', 'x'.repeat(65)].map((prefix): [unknown, string] => [
    { prefix },
    `prefix: received '${prefix.slice(0, 64)}'${prefix.length > 64 ? '... 1 more character' : ''}, expected 1 to 64 letters, digits or any of _ . : -`,
  ]),
  [{ prefix: 5 }, 'prefix: received 5, expected 1 to 64 letters, digits or any of _ . : -'],
  [
    { onStoreFailure: 'close' },
    "onStoreFailure: received 'close', expected one of 'local', 'open', 'closed'; did you mean 'closed'?",
  ],
  [
    { onStoreFailure: false },
    "onStoreFailure: received false, expected one of 'local', 'open', 'closed'",
  ],
  ...[0, -1, 1.5, NaN, '4', 1_000_001].map((instances): [unknown, string] => [
    { instances },
    `instances: received ${typeof instances === 'string' ? "'4'" : instances}, expected a whole number from 1 to 1000000`,
  ]),
  [{ timeoutMs: 0 }, 'timeoutMs: received 0, expected a whole number from 1 to 60000'],
  [{ timeoutMs: '100ms' }, "timeoutMs: received '100ms', expected a whole number from 1 to 60000"],
  [
    { resolverTimeoutMs: Infinity },
    'resolverTimeoutMs: received Infinity, expected a whole number from 1 to 60000',
  ],
  [{ maxKeys: 0 }, 'maxKeys: received 0, expected a whole number from 1 to 16777216'],
  [{ deniedCache: 'yes' }, "deniedCache: received 'yes', expected true, false or an object"],
  [{ deniedCache: [] }, 'deniedCache: received an empty array, expected an object'],
  [
    { deniedCache: { maxLive: '1s' } },
    "deniedCache: unknown option 'maxLive'; did you mean 'maxLife'?",
  ],
  [
    { deniedCache: { maxLife: 'soon' } },
    `deniedCache.maxLife: received 'soon', expected ${DURATION}`,
  ],
  [
    { deniedCache: { maxLife: '2m' } },
    "deniedCache.maxLife: received '2m', expected at most 60000 ms",
  ],
  [
    { deniedCache: { maxKeys: 0 } },
    'deniedCache.maxKeys: received 0, expected a whole number from 1 to 1048576',
  ],
  [{ enabled: 'false' }, "enabled: received 'false', expected true or false"],
  [{ clock: {} }, 'clock: received an object, expected an object with now()'],
  [{ clock: Date.now }, 'clock: received a function, expected an object with now()'],
  [{ body: {} }, 'body: received an object, expected a function'],
  [{ skip: true }, 'skip: received true, expected a function'],
  // headers
  [{ headers: 'draft-8' }, "headers: received 'draft-8', expected an array of families"],
  [
    { headers: ['draft-9'] },
    `headers[0]: received 'draft-9', expected ${FAMILIES}; did you mean 'draft-6'?`,
  ],
  [{ headers: ['x-ratelimit', 7] }, `headers[1]: received 7, expected ${FAMILIES}`],
  [
    { headers: ['draft-7', 'draft-8'] },
    "headers: 'draft-7' and 'draft-8' use the same names for different values, expected one of them",
  ],
  [{ resetHeader: 'seconds' }, "resetHeader: received 'seconds', expected one of 'epoch', 'delta'"],
  // exempt
  [{ exempt: [] }, 'exempt: received an empty array, expected an object'],
  [{ exempt: { ip: [] } }, "exempt: unknown option 'ip'; did you mean 'ips'?"],
  [
    { exempt: { ips: '10.0.0.0/8' } },
    "exempt.ips: received '10.0.0.0/8', expected an array of strings",
  ],
  [{ exempt: { paths: [5] } }, 'exempt.paths: received an array, expected an array of strings'],
  [
    { exempt: { paths: ['health'] } },
    "exempt.paths: received 'health', expected a path such as '/health', or '/internal/*' for all under it",
  ],
  // identity
  [{ identity: 'ip' }, "identity: received 'ip', expected an object"],
  [{ identity: { apikey: {} } }, "identity: unknown option 'apikey'; did you mean 'apiKey'?"],
  [
    { identity: { apiKey: {} } },
    'identity.apiKey.verify: is missing: anybody can make up a key, and each would get a quota of its own. Expected a function that tells whose key it is, or identity.apiKey.trusted: true behind a gateway that verified it',
  ],
  [
    { identity: { apiKey: { verify: 'x' } } },
    "identity.apiKey.verify: received 'x', expected a function",
  ],
  [
    { identity: { apiKey: { verify, trusted: true } } },
    'identity.apiKey.trusted: is true beside verify, expected one of them',
  ],
  [
    { identity: { apiKey: { trusted: 'yes' } } },
    "identity.apiKey.trusted: received 'yes', expected true or false",
  ],
  [
    { identity: { apiKey: { verify, header: 'x api key' } } },
    "identity.apiKey.header: received 'x api key', expected the name of a header",
  ],
  [
    { identity: { apiKey: { verify, from: 'query' } } },
    "identity.apiKey.from: received 'query', expected a function",
  ],
  [
    { identity: { apiKey: { verify, heeder: 'x' } } },
    "identity.apiKey: unknown option 'heeder'; did you mean 'header'?",
  ],
  [{ identity: { user: 'id' } }, "identity.user: received 'id', expected a function"],
  [
    { identity: { ip: { ipv6Prefix: 31 } } },
    'identity.ip.ipv6Prefix: received 31, expected a whole number from 32 to 128',
  ],
  [{ identity: { ip: 56 } }, 'identity.ip: received 56, expected an object'],
  [
    { identity: { ip: { nat64: '64:ff9b::/96' } } },
    "identity.ip.nat64: received '64:ff9b::/96', expected true or false",
  ],
  [
    { identity: { ip: { nat65: true } } },
    "identity.ip: unknown option 'nat65'; did you mean 'nat64'?",
  ],
  [
    { identity: { apiKey: { verify, cache: '5s' } } },
    "identity.apiKey.cache: received '5s', expected true, false or an object",
  ],
  [
    { identity: { apiKey: { verify, cache: { maxLife: '5s' } } } },
    "identity.apiKey.cache: unknown option 'maxLife', expected one of maxAge, maxKeys",
  ],
  [
    { identity: { apiKey: { verify, cache: { maxAge: 0 } } } },
    `identity.apiKey.cache.maxAge: received 0, expected ${DURATION}`,
  ],
  [
    { identity: { apiKey: { verify, cache: { maxAge: '2h' } } } },
    "identity.apiKey.cache.maxAge: received '2h', expected at most 3600000 ms",
  ],
  [
    { identity: { apiKey: { verify, cache: { maxKeys: 0 } } } },
    'identity.apiKey.cache.maxKeys: received 0, expected a whole number from 1 to 1048576',
  ],
  [
    { identity: { apiKey: { trusted: true, cache: true } } },
    'identity.apiKey.cache: is given beside trusted, which verifies nothing',
  ],
  [
    { identity: { apiKey: { verify: (_key: string, _request: unknown) => null, cache: {} } } },
    'identity.apiKey.cache: is given beside a verify that takes the request, whose answer holds for that request alone; expected verify(key), or cache: false',
  ],
  [
    { identity: { secret: ['hunter2'] } },
    'identity.secret: received object, expected a string of 16 bytes or more',
  ],
  [
    { identity: { secret: '' } },
    'identity.secret: received an empty string, expected a string of 16 bytes or more',
  ],
  [{ identity: { logIdentity: 1 } }, 'identity.logIdentity: received 1, expected true or false'],
  // tiers
  [{ tiers: {} }, 'tiers: received an object, expected an array of tiers'],
  [{ tiers: [once] }, `tiers[0]: received '${once}', expected an object`],
  [{ tiers: [null] }, 'tiers[0]: received null, expected an object'],
  [
    { tiers: [{ policy: once }] },
    'tiers[0].name: received undefined, expected a name of 1 to 64 printable ASCII characters: it is sent in headers',
  ],
  [
    {
      tiers: [
        { name: 'a', policy: once },
        { name: 'a', policy: once },
      ],
    },
    "tiers[1].name: 'a' is the name of an earlier tier, expected another",
  ],
  ...['', 'a\r\nb', 'größe', 'x'.repeat(65)].map((name): [unknown, string] => [
    tier({ name }),
    `tiers[0].name: received ${name === 'a\r\nb' ? String.raw`'a\r\nb'` : `'${name.slice(0, 64)}'`}${name.length > 64 ? '... 1 more character' : ''}, expected a name of 1 to 64 printable ASCII characters: it is sent in headers`,
  ]),
  [tier({ scope: 'x' }), `tiers[0]: unknown option 'scope', expected one of ${TIERS_KNOWN}`],
  [tier({ limits: 5 }), "tiers[0]: unknown option 'limits'; did you mean 'limit'?"],
  [
    tier({ by: 'clients' }),
    "tiers[0].by: received 'clients', expected one of 'client', 'api-key', 'user', 'ip', 'global'; did you mean 'client'?",
  ],
  [
    tier({ by: 'user' }),
    "tiers[0].by: received 'user', expected another, or identity.user: without it the tier never applies",
  ],
  [
    tier({ by: 'api-key' }),
    "tiers[0].by: received 'api-key', expected another, or identity.apiKey: without it the tier never applies",
  ],
  [
    tier({ phase: 'egde' }),
    "tiers[0].phase: received 'egde', expected one of 'edge', 'guard', 'handler'; did you mean 'edge'?",
  ],
  [
    tier({ phase: 'edge', by: 'client' }),
    "tiers[0].by: 'client' is not known in the edge phase, expected 'ip', 'global' or a function",
  ],
  [
    tier({ mode: 'Shadow' }),
    "tiers[0].mode: received 'Shadow', expected one of 'enforce', 'shadow'; did you mean 'shadow'?",
  ],
  [
    tier({ onStoreFailure: 'fail' }),
    "tiers[0].onStoreFailure: received 'fail', expected one of 'local', 'open', 'closed'",
  ],
  [tier({ skip: 'no' }), "tiers[0].skip: received 'no', expected a function"],
  [tier({ cost: -1 }), `tiers[0].cost: received -1, expected ${LIMITS}`],
  [
    tier({ cost: 2 }),
    'tiers[0].cost: received 2, expected at most 1: fixed-window:1/1m never lets more pass at once',
  ],
  [
    tier({ policy: 'gcra:10' }),
    "tiers[0].policy: received 'gcra:10', expected '<algorithm>:<limit>/<window>[,burst=<n>][,maxDelay=<duration>]', such as 'token-bucket:60/1m' or 'gcra:60/1m,burst=10'",
  ],
  [
    tier({ policy: 'gcraa:10/1m' }),
    `tiers[0].policy.algorithm: received 'gcraa', expected ${ALGORITHMS}; did you mean 'gcra'?`,
  ],
  [tier({ limit: 3 }), 'tiers[0].policy: is given beside limit; expected one or the other'],
  [
    numbers({ algorithm: 'sliding-window' }),
    `tiers[0].algorithm: received 'sliding-window', expected ${ALGORITHMS}; did you mean 'sliding-window-log'?`,
  ],
  [
    numbers({ algorithm: undefined }),
    `tiers[0].algorithm: received undefined, expected ${ALGORITHMS}`,
  ],
  ...[-1, NaN, 1.5, Infinity, '10', 2 ** 53, null, undefined].map((limit): [unknown, string] => [
    numbers({ limit }),
    `tiers[0].limit: received ${typeof limit === 'string' ? "'10'" : String(limit)}, expected ${LIMITS}`,
  ]),
  ...(
    [0, -1, NaN, 1.5, '1m ', '1 m', '60', '1w', '0s', '-1s', '1e3s', undefined, null] as unknown[]
  ).map((window): [unknown, string] => [
    numbers({ window }),
    `tiers[0].window: received ${typeof window === 'string' ? `'${window}'` : String(window)}, expected ${DURATION}`,
  ]),
  [
    { requireRedisAtBoot: true, redis: undefined },
    'requireRedisAtBoot: is true without redis; is the variable that holds its URL set?',
  ],
  [
    numbers({ window: '3651d' }),
    "tiers[0].window: received '3651d', expected at most 315360000000 ms",
  ],
  [
    numbers({ burst: 0 }),
    'tiers[0].burst: received 0, expected a whole number from 1 to 9007199254740991',
  ],
  [
    numbers({ algorithm: 'fixed-window', burst: 2 }),
    "tiers[0].burst: 'fixed-window' has no such parameter; it takes limit, window",
  ],
  [
    numbers({ maxDelay: '1s' }),
    "tiers[0].maxDelay: 'gcra' has no such parameter; it takes limit, window, burst",
  ],
  [
    numbers({ limit: () => 5, window: 'soon' }),
    `tiers[0].window: received 'soon', expected ${DURATION}`,
  ],
  [
    numbers({ limit: () => 5, algorithm: 'gcr' }),
    `tiers[0].algorithm: received 'gcr', expected ${ALGORITHMS}; did you mean 'gcra'?`,
  ],
];

describe('options that cannot work fail at boot with one clear error (SEC-40, SEC-57)', () => {
  it.each(rows.map(([options, message]) => [message, options] as const))(
    '%s',
    async (message, options) => {
      const said = await bootError(options);

      expect(said).toBe(`RateLimit: ${message}`);
      expect(said).not.toMatch(/hunter2|user:h/);
    },
  );

  it('throws a RateLimitConfigurationError that names the option and has a code', async () => {
    const module = Test.createTestingModule({
      imports: [
        RateLimitModule.forRootAsync({
          useFactory: () => ({ tiers: [{ name: 'plan' } as never] }),
        }),
      ],
    });

    const error: unknown = await module.compile().catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(RateLimitConfigurationError);
    expect(error).toMatchObject({
      option: 'tiers[0].algorithm',
      code: 'RATE_LIMIT_CONFIGURATION',
      name: 'RateLimitConfigurationError',
    });
  });

  it('checks ranges of addresses', async () => {
    expect(await bootError({ exempt: { ips: ['10.0.0.0/33'] } })).toMatch(
      /^RateLimit: exempt\.ips: .*'10\.0\.0\.0\/33'/,
    );
  });
});

describe('options that work', () => {
  beforeEach(() => {
    Logger.overrideLogger(false);
  });

  it.each<[string, unknown]>([
    ['none', undefined],
    ['an empty object', {}],
    [
      'null where a default stands in',
      { identity: null, tiers: null, headers: null, exempt: null },
    ],
    ['a limit of 0', numbers({ limit: 0 })],
    ['no denied cache', { deniedCache: false }],
    ['a denied cache by default', { deniedCache: null }],
    ['a denied cache of its own size', { deniedCache: { maxLife: '1m', maxKeys: 1 } }],
    ['a denied cache with a default', { deniedCache: { maxLife: null } }],
    ['the longest window', numbers({ window: '3650d' })],
    ['a weak secret', { identity: { secret: 'hunter2' } }],
    ['no cache of answers', { identity: { apiKey: { verify, cache: false } } }],
    ['a cache of answers with defaults', { identity: { apiKey: { verify, cache: true } } }],
    ['the longest cache of answers', { identity: { apiKey: { verify, cache: { maxAge: '1h' } } } }],
    ['no cache beside trusted', { identity: { apiKey: { trusted: true, cache: false } } }],
    [
      'a verify that takes the request',
      { identity: { apiKey: { verify: (_key: string, _request: unknown) => null } } },
    ],
    ['addresses of NAT64', { identity: { ip: { nat64: true } } }],
    ['a structured name', tier({ name: 'per "minute" \\ burst' })],
    ['-0 for a cost', tier({ cost: -0 })],
  ])('%s', async (_what, options) => {
    expect(await bootError(options)).toBeUndefined();
  });

  it('are not polluted by a __proto__ in parsed JSON (SEC-48)', async () => {
    const parsed = JSON.parse(
      '{"tiers":[{"name":"plan","policy":"fixed-window:1/1m","cost":1}],"identity":{"__proto__":{"logIdentity":true}}}',
    ) as object;

    expect(await bootError(parsed)).toBe(
      "RateLimit: identity: unknown option '__proto__', expected one of apiKey, user, ip, secret, logIdentity",
    );
    expect(await bootError(JSON.parse('{"__proto__":{"enabled":false}}'))).toMatch(
      /^RateLimit: options: unknown option '__proto__'/,
    );
    expect(({} as Record<string, unknown>)['enabled']).toBeUndefined();
  });
});
