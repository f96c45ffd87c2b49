import {
  All,
  Controller,
  Get,
  Head,
  Injectable,
  Module,
  Post,
  UseGuards,
  VERSION_NEUTRAL,
  Version,
  VersioningType,
  type DynamicModule,
  type ModuleMetadata,
  type Type,
  type VersioningOptions,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import {
  LimiterService,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
  type RateLimitOptions,
  type RouteTierOptions,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing/index.js';
import { START_MS, bootError, platforms } from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const named = (name: string, limit: number): RouteTierOptions => ({
  name,
  policy: perMinute(limit),
});

@Controller('limited')
@RateLimit(perMinute(1))
class Limited {
  @Get('inherits') inherits() {}
  @Get('beside') beside() {}
  @Get('replaces') @RateLimit(perMinute(2)) replaces() {}
  @Get('adds') @RateLimit(named('own', 4)) adds() {}
  @Get('skips') @SkipRateLimit() skips() {}
  @Get('skips-route') @SkipRateLimit('route') skipsRoute() {}
  @Get('skips-root') @SkipRateLimit('root') skipsRoot() {}
  @Get('skips-both') @SkipRateLimit('root', 'route') skipsBoth() {}
}

@Controller('plain')
class Plain {
  @Get('free') free() {}
  @Get('list') @RateLimit([named('a', 4), named('b', 2)]) list() {}
  @Get('stacked') @RateLimit(named('a', 2)) @RateLimit(named('b', 4)) stacked() {}
  @Get('reversed') @RateLimit(named('a', 4)) @RateLimit(named('b', 2)) reversed() {}
  @Get('nothing') @RateLimit(perMinute(0)) nothing() {}
  @Get('double') @RateLimit({ policy: perMinute(2), cost: 2 }) double() {}
  @Get('gratis') @RateLimit({ policy: perMinute(1), cost: 0 }) gratis() {}
  @Get('stricter') @RateLimit({ ...named('x', 2), by: 'global' }) stricter() {}
}

@Controller('skipped')
@SkipRateLimit()
class Skipped {
  @Get('inherits') inherits() {}
  @Get('limits') @RateLimit(perMinute(2)) limits() {}
}

@Controller('half')
@SkipRateLimit('root')
@RateLimit(perMinute(4))
class Half {
  @Get('class') ofClass() {}
  @Get('named') @SkipRateLimit('route') skipsTheRest() {}
}

@Controller('child')
class Child extends Limited {
  @Get('own') own() {}
}

@Controller('scoped')
class Scoped {
  @Get('a') @RateLimit({ ...named('exports', 3), scope: 'files' }) a() {}
  @Get('b') @RateLimit({ ...named('exports', 3), scope: 'files' }) b() {}
  @Get('c') @RateLimit({ ...named('exports', 3), scope: 'other' }) c() {}
  @Get('d') @RateLimit({ ...named('imports', 3), scope: 'files' }) d() {}
  @Get('e') @RateLimit(named('exports', 3)) e() {}
}

/** A class that bears the same name, method and path each time it is made. */
function twin(path = ''): Type {
  @Controller(path)
  class Twin {
    @Get('same') @RateLimit(perMinute(1)) find() {}
  }
  return Twin;
}

function moduleOf(metadata: ModuleMetadata): Type {
  @Module(metadata)
  class Feature {}
  return Feature;
}

@Controller('spelled')
class Spelled {
  @Get('path') @RateLimit(perMinute(1)) get() {}
  @Post('path') @RateLimit(perMinute(1)) post() {}
  @Get(['one', 'other']) @RateLimit(perMinute(1)) both() {}
  @Head('head') @RateLimit(perMinute(1)) head() {}
  @Get('items/:id') @RateLimit(perMinute(1)) item() {}
  @Get('files/*') @RateLimit(perMinute(1)) file() {}
  @All('any') @RateLimit(perMinute(1)) any() {}
}

@Controller({ path: 'versioned', version: '1' })
@RateLimit(perMinute(1))
class VersionOne {
  @Get() find() {}
  @Get() @Version('2') findTwo() {}
  @Get() @Version(['3', '4']) findLater() {}
}

@Controller({ path: 'neutral', version: VERSION_NEUTRAL })
class AllVersions {
  @Get() @RateLimit(perMinute(1)) find() {}
}

@Controller({ path: 'north', host: ':tenant.north.example' })
class North {
  @Get() @RateLimit(perMinute(1)) find() {}
}

@Controller({ path: 'south', host: 'south.example' })
class South {
  @Get() @RateLimit(perMinute(1)) find() {}
}

class Base {
  @Get('list') @RateLimit(perMinute(1)) list() {}
}

@Controller('cats')
class Cats extends Base {}

@Controller('dogs')
class Dogs extends Base {}

const rootTiers: RateLimitOptions['tiers'] = [
  { name: 'root', policy: perMinute(3), by: ({ request }) => String(request.headers['x-who']) },
];

describe.each(platforms)('on $name', ({ start }) => {
  describe('decorators', () => {
    // [fact, path, admitted of 5]; the tier of forRoot lets 3 pass
    it.each([
      ['a route without a decorator has the tiers of forRoot', '/plain/free', 3],
      ['a class limits its routes', '/limited/inherits', 1],
      ["a method's tier replaces the class's of the same name", '/limited/replaces', 2],
      ["a method's tier of another name is added to the class's", '/limited/adds', 1],
      ['a list of tiers applies them all', '/plain/list', 2],
      ['stacked decorators both apply, the upper one tighter', '/plain/stacked', 2],
      ['stacked decorators both apply, the lower one tighter', '/plain/reversed', 2],
      ['a bare skip on a method skips class and forRoot (SEC-37)', '/limited/skips', 5],
      ["a named skip on a method skips the class's tier", '/limited/skips-route', 3],
      ['a named skip on a method skips the tier of forRoot', '/limited/skips-root', 1],
      ['a skip of two names skips both', '/limited/skips-both', 5],
      ['a bare skip on a class skips every tier (user report 39)', '/skipped/inherits', 5],
      ["a method's own limit is stronger than its class's skip (SEC-37)", '/skipped/limits', 2],
      ["a skip and a limit on one class: the others' tier is skipped", '/half/class', 4],
      ['skips of class and method add up', '/half/named', 5],
      ['a subclass inherits the limits of its parent', '/child/own', 1],
      ['a limit of 0 refuses everything (SEC-40)', '/plain/nothing', 0],
      ['a cost of 2 uses two units', '/plain/double', 1],
      ['a cost of 0 uses none', '/plain/gratis', 3],
      ['by on a decorator is honoured', '/plain/stricter', 2],
    ])('%s', async (_fact, path, expected) => {
      const { admitted } = await start({
        rateLimit: { tiers: rootTiers },
        controllers: [Limited, Plain, Skipped, Half, Child],
      });

      expect(await admitted(path, 5, { headers: { 'x-who': path } })).toBe(expected);
    });

    it('counts each route of a class on its own', async () => {
      const { admitted } = await start({
        rateLimit: { tiers: rootTiers },
        controllers: [Limited, Child],
      });

      expect(await admitted('/limited/inherits', 2)).toBe(1);
      expect(await admitted('/limited/beside', 2)).toBe(1);
      expect(await admitted('/child/inherits', 2)).toBe(1);
    });

    it('shares a counter between routes of one scope and one tier name', async () => {
      const { admitted } = await start({ controllers: [Scoped] });

      expect(await admitted('/scoped/a', 2)).toBe(2);
      expect(await admitted('/scoped/b', 2)).toBe(1);
      // another scope, another name, no scope
      expect(await admitted('/scoped/c', 4)).toBe(3);
      expect(await admitted('/scoped/d', 4)).toBe(3);
      expect(await admitted('/scoped/e', 4)).toBe(3);
    });

    it('limits nothing but decorated routes when forRoot has no tiers (user report 40)', async () => {
      const { ask, admitted } = await start({ controllers: [Plain] });

      expect(await admitted('/plain/free', 20)).toBe(20);
      expect((await ask('/plain/free')).headers).not.toHaveProperty('x-ratelimit-limit');
    });

    it('charges no tier when one of them refuses (SEC-55)', async () => {
      const { ask, admitted } = await start({ controllers: [Plain] });
      await admitted('/plain/list', 5);

      const { headers } = await ask('/plain/list');

      // 'b' (2) refused three of five: 'a' (4) was charged for two, and 'b' is what is told
      expect(headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' });
    });

    it('admits exactly the limit of requests in parallel (SEC-54)', async () => {
      const { ask } = await start({
        rateLimit: { tiers: [{ name: 'plan', policy: 'sliding-window-log:10/1m' }] },
        controllers: [Plain],
      });

      const answers = await Promise.all(Array.from({ length: 100 }, () => ask('/plain/free')));

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    });
  });

  describe('route identity', () => {
    it('tells classes of one name in two modules apart (SEC-26)', async () => {
      const { admitted } = await start({
        imports: [
          moduleOf({ controllers: [twin('first')] }),
          moduleOf({ controllers: [twin('second')] }),
        ],
      });

      expect(await admitted('/first/same', 2)).toBe(1);
      expect(await admitted('/second/same', 2)).toBe(1);
    });

    it('tells one path under two RouterModule prefixes apart (SEC-26)', async () => {
      const [first, second] = [
        moduleOf({ controllers: [twin()] }),
        moduleOf({ controllers: [twin()] }),
      ];
      const { admitted } = await start({
        imports: [
          first,
          second,
          RouterModule.register([
            { path: 'north', module: first },
            { path: 'south', module: second },
          ]),
        ],
      });

      expect(await admitted('/north/same', 2)).toBe(1);
      expect(await admitted('/south/same', 2)).toBe(1);
    });

    const versionings: [string, VersioningOptions, (version: string) => [string, object]][] = [
      ['URI', { type: VersioningType.URI }, (version) => [`/v${version}`, {}]],
      [
        'header',
        { type: VersioningType.HEADER, header: 'x-version' },
        (version) => ['', { 'x-version': version }],
      ],
      [
        'media type',
        { type: VersioningType.MEDIA_TYPE, key: 'v=' },
        (version) => ['', { accept: `application/json;v=${version}` }],
      ],
    ];

    it.each(versionings)('tells versions by %s of one path apart', async (_by, options, say) => {
      const { admitted } = await start({
        controllers: [VersionOne],
        prepare: (app) => app.enableVersioning(options),
      });
      const ofVersion = (version: string, times: number) => {
        const [prefix, headers] = say(version);
        return admitted(`${prefix}/versioned`, times, { headers: { ...headers } });
      };

      expect(await ofVersion('1', 2)).toBe(1);
      expect(await ofVersion('2', 2)).toBe(1);
      // Two versions of one handler
      expect(await ofVersion('3', 1)).toBe(1);
      expect(await ofVersion('4', 2)).toBe(0);
    });

    it.each(versionings.slice(1))(
      'counts a handler of all versions once, whichever %s asks for it',
      async (_by, options, say) => {
        const { admitted } = await start({
          controllers: [AllVersions],
          prepare: (app) => app.enableVersioning(options),
        });
        const [, headers] = say('7');

        expect(await admitted('/neutral', 1)).toBe(1);
        expect(await admitted('/neutral', 2, { headers: { ...headers } })).toBe(0);
      },
    );

    it('counts a host-scoped route over all its hosts, in whatever spelling', async () => {
      const { ask, admitted } = await start({ controllers: [North, South] });
      const at = (host: string) => ({ headers: { host } });

      expect((await ask('/north', at('a.north.example'))).status).toBe(200);
      for (const host of ['b.north.example', 'A.NORTH.EXAMPLE', 'a.north.example:8080']) {
        expect((await ask('/north', at(host))).status).toBe(429);
      }
      expect((await ask('/north', at('south.example'))).status).toBe(404);
      expect(await admitted('/south', 2, at('south.example'))).toBe(1);
    });

    it('tells the routes that two controllers inherit apart', async () => {
      const { admitted } = await start({ controllers: [Cats, Dogs] });

      expect(await admitted('/cats/list', 2)).toBe(1);
      expect(await admitted('/dogs/list', 2)).toBe(1);
    });

    it('is below a global prefix what it is without', async () => {
      const { admitted } = await start({
        controllers: [Spelled, Cats],
        prepare: (app) => app.setGlobalPrefix('api', { exclude: ['cats/list'] }),
      });

      expect(await admitted('/api/spelled/path', 2)).toBe(1);
      expect(await admitted('/api/spelled/path/', 2)).toBe(0);
      expect(await admitted('/cats/list', 2)).toBe(1);
    });

    it('is one for a wildcard, and one for all methods', async () => {
      const { admitted } = await start({ controllers: [Spelled] });

      expect(await admitted('/spelled/files/a', 1)).toBe(1);
      expect(await admitted('/spelled/files/b/c', 2)).toBe(0);
      expect(await admitted('/spelled/any', 1)).toBe(1);
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
        expect(await admitted('/spelled/any', 1, { method })).toBe(0);
      }
    });

    it('tells the methods of one path apart', async () => {
      const { admitted } = await start({ controllers: [Spelled] });

      expect(await admitted('/spelled/path', 2)).toBe(1);
      expect(await admitted('/spelled/path', 2, { method: 'POST' })).toBe(1);
    });

    // Whichever spelling reaches the handler is counted with the others
    it.each([
      ['HEAD', '/spelled/path', 'HEAD', {}],
      ['a query', '/spelled/path?page=2', 'GET', {}],
      ['a trailing slash', '/spelled/path/', 'GET', {}],
      ['upper case', '/SPELLED/Path', 'GET', {}],
      ['an encoded letter', '/spelled/%70ath', 'GET', {}],
      ['an encoded slash', '/spelled%2Fpath', 'GET', {}],
      ['a double slash', '//spelled/path', 'GET', {}],
      ['a double slash within', '/spelled//path', 'GET', {}],
      ['a dot segment', '/spelled/./path', 'GET', {}],
      ['a parameter of the path', '/spelled/path;a=1', 'GET', {}],
      ['a fragment', '/spelled/path#a', 'GET', {}],
      ['an absolute URL', 'http://other.example/spelled/path', 'GET', {}],
      ['a method override', '/spelled/path', 'GET', { 'x-http-method-override': 'POST' }],
    ])('counts %s with the route it reaches (SEC-29)', async (_spelling, path, method, more) => {
      const { ask } = await start({ controllers: [Spelled] });
      await ask('/spelled/path');

      const { status } = await ask(path, { method, headers: more });

      expect([404, 429]).toContain(status);
    });

    it.each([
      ['HEAD', '/spelled/path', 'HEAD'],
      ['a trailing slash', '/spelled/path/', 'GET'],
      ['upper case', '/SPELLED/Path', 'GET'],
    ])('charges %s like GET (SEC-29)', async (_spelling, path, method) => {
      const { ask } = await start({ controllers: [Spelled] });

      expect((await ask(path, { method })).status).toBe(200);
      expect((await ask('/spelled/path')).status).toBe(429);
    });

    it('counts the paths of one handler, and the values of its parameters, together', async () => {
      const { ask } = await start({ controllers: [Spelled] });

      expect((await ask('/spelled/one')).status).toBe(200);
      expect((await ask('/spelled/other')).status).toBe(429);
      expect((await ask('/spelled/items/1')).status).toBe(200);
      expect((await ask('/spelled/items/2')).status).toBe(429);
    });
  });

  describe('the guard', () => {
    @Controller('twice')
    @UseGuards(RateLimitGuard)
    class Twice {
      @Get() @UseGuards(RateLimitGuard) @RateLimit(perMinute(2)) find() {}
    }

    @Controller('by-hand')
    class ByHand {
      @Get('guarded') @UseGuards(RateLimitGuard) @RateLimit(perMinute(1)) guarded() {}
      @Get('open') open() {}
    }

    it('charges once when it is reached three times (SEC-36)', async () => {
      const { ask, admitted } = await start({ controllers: [Twice] });

      expect((await ask('/twice')).headers['x-ratelimit-remaining']).toBe('1');
      expect(await admitted('/twice', 3)).toBe(1);
    });

    it('guards only where it is used when registerGuard is false', async () => {
      const { admitted } = await start({
        rateLimit: { registerGuard: false, tiers: [{ name: 'plan', policy: perMinute(2) }] },
        imports: [moduleOf({ controllers: [ByHand] })],
      });

      expect(await admitted('/by-hand/guarded', 3)).toBe(1);
      expect(await admitted('/by-hand/open', 3)).toBe(3);
    });

    it('is replaced by an override of its class in a test (user report 47)', async () => {
      const { admitted } = await start({
        controllers: [Plain],
        override: (builder) =>
          builder.overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }),
      });

      expect(await admitted('/plain/list', 4)).toBe(4);
    });

    it('admits everything, and sets no header, when enabled is false', async () => {
      const { ask, admitted } = await start({
        rateLimit: {
          enabled: false,
          tiers: [
            { name: 'edge', phase: 'edge', policy: perMinute(1) },
            { name: 'late', phase: 'handler', policy: perMinute(1) },
          ],
        },
        controllers: [Plain],
      });

      expect(await admitted('/plain/nothing', 3)).toBe(3);
      expect(Object.keys((await ask('/plain/list')).headers).join()).not.toContain('ratelimit');
    });
  });
});

// Nest gives Fastify no hosts to tell routes by, so there a path has one.
describe('one path of two hosts on Express', () => {
  it('is two routes', async () => {
    @Controller({ path: 'north', host: 'south.example' })
    class AlsoNorth {
      @Get() @RateLimit(perMinute(1)) find() {}
    }
    const { admitted } = await platforms[0]!.start({ controllers: [North, AlsoNorth] });

    expect(await admitted('/north', 2, { headers: { host: 'a.north.example' } })).toBe(1);
    expect(await admitted('/north', 2, { headers: { host: 'south.example' } })).toBe(1);
  });
});

describe('the module', () => {
  const [{ start }] = platforms as [(typeof platforms)[0]];

  @Controller('sms')
  class Sms {
    constructor(private readonly limiter: LimiterService) {}
    @Get() send() {
      return this.limiter.consume({ name: 'sms', policy: perMinute(1) }, 'gateway-1');
    }
  }

  it('gives LimiterService to every module by default', async () => {
    const { ask } = await start({ imports: [moduleOf({ controllers: [Sms] })] });

    expect((await ask('/sms')).body).toMatchObject({ policy: 'sms', allowed: true, remaining: 0 });
    expect((await ask('/sms')).body).toMatchObject({ policy: 'sms', allowed: false });
  });

  it('keeps LimiterService to the importing module when isGlobal is false', async () => {
    const feature = moduleOf({ controllers: [Sms] });
    const rateLimit = { isGlobal: false };

    await expect(start({ rateLimit, imports: [feature] })).rejects.toThrow(/LimiterService/);
    const { ask } = await start({ rateLimit, controllers: [Sms] });
    expect((await ask('/sms')).status).toBe(200);
  });

  const clock = new ManualClock(START_MS);
  const made = (limit: number): RateLimitOptions => ({
    clock,
    tiers: [{ name: 'root', policy: perMinute(limit) }],
  });

  @Injectable()
  class Limits {
    readonly limit = 2;
  }
  const limits = moduleOf({ providers: [Limits], exports: [Limits] });

  @Injectable()
  class OptionsFactory {
    createRateLimitOptions() {
      return Promise.resolve(made(2));
    }
  }
  const factory = moduleOf({ providers: [OptionsFactory], exports: [OptionsFactory] });

  // user report 45
  it.each<[string, () => DynamicModule]>([
    [
      'useFactory with inject and imports',
      () =>
        RateLimitModule.forRootAsync({
          imports: [limits],
          inject: [Limits],
          useFactory: ({ limit }: Limits) => made(limit),
        }),
    ],
    [
      'an async useFactory',
      () => RateLimitModule.forRootAsync({ useFactory: async () => made(2) }),
    ],
    ['useClass', () => RateLimitModule.forRootAsync({ useClass: OptionsFactory })],
    [
      'useExisting',
      () => RateLimitModule.forRootAsync({ imports: [factory], useExisting: OptionsFactory }),
    ],
  ])('takes its options from %s', async (_way, module) => {
    const { admitted } = await start({
      rateLimit: false,
      imports: [module()],
      controllers: [Plain],
    });

    expect(await admitted('/plain/free', 4)).toBe(2);
  });

  it('takes isGlobal and registerGuard beside an async factory', async () => {
    const feature = moduleOf({ controllers: [Sms] });
    const async = (extras: object) =>
      RateLimitModule.forRootAsync({ useFactory: () => made(1), ...extras });

    const { admitted } = await start({
      rateLimit: false,
      imports: [async({ registerGuard: false }), feature],
    });

    expect(await admitted('/sms', 3)).toBe(3);
    await expect(
      start({ rateLimit: false, imports: [async({ isGlobal: false }), feature] }),
    ).rejects.toThrow(/LimiterService/);
  });
});

describe('decorators that cannot work fail at boot', () => {
  const tiers = [
    { name: 'plan', policy: perMinute(9) },
    { name: 'front', policy: perMinute(9), phase: 'edge' },
  ];

  function onMethod(...decorators: MethodDecorator[]): Type {
    @Controller()
    class Search {
      @Get('find') find() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Search.prototype, 'find')!;
    for (const decorate of decorators) decorate(Search.prototype, 'find', descriptor);
    return Search;
  }

  function onClass(...decorators: ClassDecorator[]): Type {
    const type = onMethod();
    for (const decorate of decorators) decorate(type);
    return type;
  }

  const tier = (options: object) => onMethod(RateLimit(options as RouteTierOptions));
  const place = 'RateLimit: @RateLimit on Search.find';

  it.each<[string, Type, string]>([
    [
      'an unknown name to skip, with the nearest (SEC-37)',
      onMethod(SkipRateLimit('plam')),
      "RateLimit: @SkipRateLimit on Search.find: no tier is named 'plam'; did you mean 'plan'?",
    ],
    [
      'an unknown name to skip that is near to none',
      onMethod(SkipRateLimit('monthly-quota')),
      "RateLimit: @SkipRateLimit on Search.find: no tier is named 'monthly-quota', expected one of 'plan', 'front'",
    ],
    [
      'an unknown name to skip on a class',
      onClass(SkipRateLimit('Plan')),
      "RateLimit: @SkipRateLimit on Search: no tier is named 'Plan'; did you mean 'plan'?",
    ],
    [
      'a skip of an edge tier',
      onMethod(SkipRateLimit('front')),
      "RateLimit: @SkipRateLimit on Search.find: 'front' is decided in the edge phase, before the route is known; use exempt.paths",
    ],
    [
      'a bare skip beside a limit',
      onMethod(SkipRateLimit(), RateLimit(perMinute(1))),
      'RateLimit: @SkipRateLimit on Search.find: skips every tier, and @RateLimit beside it adds one; expected one of them, or names to skip',
    ],
    [
      'two tiers of one name in a list',
      onMethod(RateLimit([named('a', 1), named('a', 2)])),
      `${place}: two tiers are named 'a'; give them names of their own`,
    ],
    [
      'two decorators without a name',
      onMethod(RateLimit(perMinute(1)), RateLimit(perMinute(2))),
      `${place}: two tiers are named 'route'; give them names of their own`,
    ],
    [
      'two decorators without a name on a class',
      onClass(RateLimit(perMinute(1)), RateLimit(perMinute(2))),
      "RateLimit: @RateLimit on Search: two tiers are named 'route'; give them names of their own",
    ],
    [
      'the name of a tier of forRoot',
      onMethod(RateLimit(named('plan', 1))),
      `${place}: 'plan' is a tier of forRoot, which applies too; expected another name, or @SkipRateLimit('plan') and another name`,
    ],
    [
      'an unknown option',
      tier({ policy: perMinute(1), costs: 2 }),
      `${place}: unknown option 'costs'; did you mean 'cost'?`,
    ],
    [
      'an option of another decorator',
      tier({ policy: perMinute(1), ttl: 2 }),
      `${place}: unknown option 'ttl', expected one of name, by, cost, phase, mode, onStoreFailure, skip, algorithm, limit, window, burst, maxDelay, policy, scope`,
    ],
    [
      'an unknown algorithm',
      tier({ algorithm: 'token-buckets', limit: 1, window: '1m' }),
      `${place}.algorithm: received 'token-buckets', expected one of 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket', 'gcra', 'leaky-bucket'; did you mean 'token-bucket'?`,
    ],
    [
      'malformed text',
      tier('60 per minute' as unknown as object),
      `${place}.policy: received '60 per minute', expected '<algorithm>:<limit>/<window>[,burst=<n>][,maxDelay=<duration>]', such as 'token-bucket:60/1m' or 'gcra:60/1m,burst=10'`,
    ],
    [
      'text beside numbers',
      tier({ policy: perMinute(1), limit: 3 }),
      `${place}.policy: is given beside limit; expected one or the other`,
    ],
    [
      'text that is no text',
      tier({ policy: 60 }),
      `${place}.policy: received 60, expected a policy's text`,
    ],
    [
      'nothing at all',
      tier(undefined as never),
      `${place}: received undefined, expected an object`,
    ],
    ['null', tier(null as never), `${place}: received null, expected an object`],
    ['a number', tier(60 as never), `${place}: received 60, expected an object`],
    [
      'no algorithm',
      tier({}),
      `${place}.algorithm: received undefined, expected one of 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket', 'gcra', 'leaky-bucket'`,
    ],
    ['an empty list', tier([]), `${place}: received an empty array, expected an object`],
    [
      'a cost above the capacity (SEC-43)',
      tier({ policy: perMinute(10), cost: 11 }),
      `${place}.cost: received 11, expected at most 10: fixed-window:10/1m never lets more pass at once`,
    ],
    ...[NaN, Infinity, -1, 1.5, '1', 1e21, null, 1n].map((cost): [string, Type, string] => [
      `a cost of ${typeof cost} ${String(cost)} (SEC-39)`,
      tier({ policy: perMinute(10), cost }),
      `${place}.cost: received ${typeof cost === 'string' ? "'1'" : typeof cost === 'bigint' ? '1n' : String(cost)}, expected a whole number from 0 to 9007199254740991`,
    ]),
    [
      'the edge phase',
      tier({ policy: perMinute(1), phase: 'edge', by: 'ip' }),
      `${place}.phase: 'edge' comes before routing, so no route can have it; expected 'guard' or 'handler'`,
    ],
    [
      'an unknown phase',
      tier({ policy: perMinute(1), phase: 'handlers' }),
      `${place}.phase: received 'handlers', expected one of 'edge', 'guard', 'handler'; did you mean 'handler'?`,
    ],
    [
      'an unknown mode',
      tier({ policy: perMinute(1), mode: 'dry-run' }),
      `${place}.mode: received 'dry-run', expected one of 'enforce', 'shadow'`,
    ],
    [
      'an unknown failure policy',
      tier({ policy: perMinute(1), onStoreFailure: 'opened' }),
      `${place}.onStoreFailure: received 'opened', expected one of 'local', 'open', 'closed'; did you mean 'open'?`,
    ],
    [
      'an unknown subject',
      tier({ policy: perMinute(1), by: 'apikey' }),
      `${place}.by: received 'apikey', expected one of 'client', 'api-key', 'user', 'ip', 'global'; did you mean 'api-key'?`,
    ],
    [
      'a subject that is not configured',
      tier({ policy: perMinute(1), by: 'user' }),
      `${place}.by: received 'user', expected another, or identity.user: without it the tier never applies`,
    ],
    [
      'a skip that is no function',
      tier({ policy: perMinute(1), skip: true }),
      `${place}.skip: received true, expected a function`,
    ],
    [
      'an empty scope',
      tier({ policy: perMinute(1), scope: '' }),
      `${place}.scope: received '', expected a non-empty string`,
    ],
    [
      'a name that no header can carry (SEC-59)',
      tier({ policy: perMinute(1), name: 'a\r\nb' }),
      String.raw`${place}.name: received 'a\r\nb', expected a name of 1 to 64 printable ASCII characters: it is sent in headers`,
    ],
  ])('%s', async (_fault, controller, message) => {
    expect(await bootError({ tiers }, [controller])).toBe(message);
  });

  it('accepts the names of other routes in a skip', async () => {
    const other = onMethod(RateLimit(named('exports', 1)));

    expect(await bootError({ tiers }, [onMethod(SkipRateLimit('exports')), other])).toBeUndefined();
  });
});
