import { ConfigModule } from '@nestjs/config';
import { Controller, Get } from '@nestjs/common';
import { optionsFromEnvironment, rateLimitConfig } from '../../src/config/index.js';
import { RateLimitModule } from '../../src/index.js';
import { platforms } from '../support/platforms.js';

@Controller()
class Search {
  @Get('find') find() {}
}

describe('optionsFromEnvironment', () => {
  it.each<[string, Record<string, string | undefined>, object]>([
    ['nothing', {}, {}],
    [
      'empty variables',
      { RATE_LIMIT_TIERS: '', RATE_LIMIT_INSTANCES: ' ', RATE_LIMIT_ENABLED: '' },
      {},
    ],
    [
      'a URL',
      { RATE_LIMIT_REDIS_URL: ' redis://localhost:6379 ' },
      { redis: 'redis://localhost:6379' },
    ],
    ['a prefix', { RATE_LIMIT_PREFIX: 'shop' }, { prefix: 'shop' }],
    [
      'a secret',
      { RATE_LIMIT_SECRET: '0123456789abcdef' },
      { identity: { secret: '0123456789abcdef' } },
    ],
    ['a failure policy', { RATE_LIMIT_ON_STORE_FAILURE: 'closed' }, { onStoreFailure: 'closed' }],
    [
      'numbers',
      { RATE_LIMIT_INSTANCES: '4', RATE_LIMIT_TIMEOUT_MS: '50' },
      { instances: 4, timeoutMs: 50 },
    ],
    [
      'header families',
      { RATE_LIMIT_HEADERS: 'x-ratelimit, draft-8' },
      { headers: ['x-ratelimit', 'draft-8'] },
    ],
    ['enabled', { RATE_LIMIT_ENABLED: 'false' }, { enabled: false }],
    [
      'tiers',
      {
        RATE_LIMIT_TIERS:
          'per ip@ip=sliding-window-counter:1000/1m; plan@client=gcra:60/1m,burst=10;',
      },
      {
        tiers: [
          { name: 'per ip', by: 'ip', policy: 'sliding-window-counter:1000/1m' },
          { name: 'plan', by: 'client', policy: 'gcra:60/1m,burst=10' },
        ],
      },
    ],
  ])('reads %s', (_what, environment, options) => {
    expect(optionsFromEnvironment(environment)).toEqual(options);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a count',
      { RATE_LIMIT_INSTANCES: 'four' },
      "RATE_LIMIT_INSTANCES: received 'four', expected a whole number",
    ],
    [
      'a negative count',
      { RATE_LIMIT_INSTANCES: '-4' },
      "RATE_LIMIT_INSTANCES: received '-4', expected a whole number",
    ],
    [
      'a time',
      { RATE_LIMIT_TIMEOUT_MS: '1e3' },
      "RATE_LIMIT_TIMEOUT_MS: received '1e3', expected a whole number",
    ],
    [
      'a switch',
      { RATE_LIMIT_ENABLED: 'no' },
      "RATE_LIMIT_ENABLED: received 'no', expected true or false",
    ],
    [
      'a tier without by',
      { RATE_LIMIT_TIERS: 'edge=gcra:60/1m' },
      "RATE_LIMIT_TIERS: received 'edge=gcra:60/1m', expected '<name>@<by>=<policy>', such as 'edge@ip=gcra:60/1m'",
    ],
    [
      'text that is no tier',
      { RATE_LIMIT_TIERS: 'a@ip=gcra:60/1m;x' },
      "RATE_LIMIT_TIERS: received 'x', expected '<name>@<by>=<policy>', such as 'edge@ip=gcra:60/1m'",
    ],
  ])('refuses %s', (_what, environment, message) => {
    expect(() => optionsFromEnvironment(environment)).toThrow(`RateLimit: ${message}`);
  });
});

describe('rateLimitConfig.asProvider()', () => {
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before };
  });

  it.each(platforms)('configures the module on $name', async ({ start }) => {
    process.env['RATE_LIMIT_TIERS'] = 'plan@ip=fixed-window:2/1d';
    process.env['RATE_LIMIT_HEADERS'] = 'draft-7';
    const { ask, admitted } = await start({
      rateLimit: false,
      imports: [
        ConfigModule.forRoot({ ignoreEnvFile: true }),
        RateLimitModule.forRootAsync(rateLimitConfig.asProvider()),
      ],
      controllers: [Search],
    });

    expect((await ask('/find')).headers['ratelimit-policy']).toBe('2;w=86400');
    expect(await admitted('/find', 3)).toBe(1);
  });

  it.each(platforms)('fails at boot on $name for what cannot work', async ({ start }) => {
    process.env['RATE_LIMIT_TIERS'] = 'plan@clients=gcra:1/1m';
    const parts = {
      rateLimit: false as const,
      imports: [RateLimitModule.forRootAsync(rateLimitConfig.asProvider())],
    };

    await expect(start(parts)).rejects.toThrow(
      "RateLimit: tiers[0].by: received 'clients', expected one of 'client', 'api-key', 'user', 'ip', 'global'; did you mean 'client'?",
    );
  });
});
