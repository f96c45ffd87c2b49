import {
  Controller,
  Get,
  Injectable,
  Module,
  Scope,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  SkipRateLimit,
  type RateLimitOptions,
  type RouteTierOptions,
  type TierOptions,
} from '../../src/index.js';
import { bootError, platforms, type AppParts } from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const plan: TierOptions = { name: 'plan', policy: perMinute(5) };
const late: TierOptions = { ...plan, name: 'late', phase: 'handler' };
const exportsTier = (more: object): RouteTierOptions =>
  ({ name: 'exports', scope: 'files', ...more }) as RouteTierOptions;

type Decorators = MethodDecorator | ClassDecorator;

interface Search {
  readonly onClass?: Decorators[];
  readonly onMethod?: Decorators[];
  readonly name?: string;
}

/** A controller with one route, `/<its name>`. */
function controller({ onClass = [], onMethod = [], name = 'Search' }: Search): Type {
  const type = { [name]: class {} }[name]!;
  const value = Object.defineProperty(() => undefined, 'name', { value: 'find' });
  const descriptor = { value, configurable: true };
  Object.defineProperty(type.prototype, 'find', descriptor);
  for (const decorate of [Get(), ...onMethod]) {
    (decorate as MethodDecorator)(type.prototype, 'find', descriptor);
  }
  for (const decorate of [Controller(name.toLowerCase()), ...onClass]) {
    (decorate as ClassDecorator)(type);
  }
  return type;
}

const [{ start }] = platforms as [(typeof platforms)[0]];

describe('what limits nothing, or not what it says, is found at boot', () => {
  const place = 'RateLimit: @RateLimit on Search.find';
  const skipPlace = 'RateLimit: @SkipRateLimit on Search';

  // [fault, tiers of forRoot, controllers, message]
  it.each<[string, TierOptions[], Search[], string]>([
    [
      'the name of a tier of forRoot for a policy (user report 39)',
      [plan],
      [{ onMethod: [RateLimit('plan' as never)] }],
      `${place}: 'plan' is a tier of forRoot, which applies already; expected a policy, such as 'token-bucket:60/1m'`,
    ],
    [
      "a policy's text with a mistyped algorithm",
      [],
      [{ onMethod: [RateLimit('sliding-windw-log:10/1m' as never)] }],
      `${place}.policy.algorithm: received 'sliding-windw-log', expected one of 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket', 'gcra', 'leaky-bucket'; did you mean 'sliding-window-log'?`,
    ],
    [
      'a tier that its own method skips by name',
      [],
      [{ onMethod: [RateLimit(perMinute(1)), SkipRateLimit('route')] }],
      `${skipPlace}.find: skips 'route', and @RateLimit beside it adds it; expected one of them, or names to skip`,
    ],
    [
      'a tier that its own class skips by name',
      [],
      [{ onClass: [RateLimit(perMinute(1)), SkipRateLimit('route')] }],
      `${skipPlace}: skips 'route', and @RateLimit beside it adds it; expected one of them, or names to skip`,
    ],
    [
      'a tier of a class that skips every tier',
      [],
      [{ onClass: [SkipRateLimit(), RateLimit(perMinute(1))] }],
      `${skipPlace}: skips every tier, and @RateLimit beside it adds one; expected one of them, or names to skip`,
    ],
    ...(
      [
        ['limit', { policy: perMinute(5) }, perMinute(5)],
        ['window', { policy: 'fixed-window:3/1h' }, 'fixed-window:3/1h'],
        ['algorithm', { policy: 'gcra:3/1m' }, 'gcra:3/1m'],
        ['burst', { policy: 'token-bucket:3/1m,burst=9' }, 'token-bucket:3/1m,burst=9'],
      ] as const
    ).map(([what, more, text]): [string, TierOptions[], Search[], string] => [
      `one scope with another ${what}`,
      [],
      [
        { name: 'First', onMethod: [RateLimit(exportsTier({ policy: perMinute(3) }))] },
        { name: 'Search', onClass: [RateLimit(exportsTier(more))] },
      ],
      `RateLimit: @RateLimit on Search.scope: shares its counter with fixed-window:3/1m of @RateLimit on First.find; received ${text}, expected the same, or another scope or name`,
    ]),
    [
      'a user tier without users, on a route (SEC-20)',
      [],
      [{ onMethod: [RateLimit({ policy: perMinute(1), by: 'user', phase: 'handler' })] }],
      `${place}.by: received 'user', expected another, or identity.user: without it the tier never applies`,
    ],
    [
      'a key tier without keys, on a route (SEC-16)',
      [],
      [{ onClass: [RateLimit({ policy: perMinute(1), by: 'api-key' })] }],
      "RateLimit: @RateLimit on Search.by: received 'api-key', expected another, or identity.apiKey: without it the tier never applies",
    ],
    [
      'a cost above a burst (SEC-43)',
      [],
      [{ onMethod: [RateLimit({ policy: 'gcra:100/1m,burst=3', cost: 4 })] }],
      `${place}.cost: received 4, expected at most 3: gcra:100/1m,burst=3 never lets more pass at once`,
    ],
  ])('%s', async (_fault, tiers, searches, message) => {
    expect(await bootError({ tiers }, searches.map(controller))).toBe(message);
  });

  it('a class without routes', async () => {
    @Injectable()
    @RateLimit(perMinute(1))
    class Payments {
      pay() {}
    }

    await expect(start({ providers: [Payments] })).rejects.toThrow(
      'RateLimit: @RateLimit on Payments: limits nothing, because the class has no routes; expected a controller, a gateway or a resolver',
    );
  });

  it('two imports of forRoot (user report 38)', async () => {
    @Module({ imports: [RateLimitModule.forRoot({ tiers: [plan] })] })
    class Feature {}

    await expect(start({ imports: [Feature] })).rejects.toThrow(
      'RateLimit: forRoot: received 2 imports with options of their own, expected one, in the root module',
    );
  });

  it('not one import that several modules share', async () => {
    const shared = RateLimitModule.forRoot({ tiers: [plan] });
    @Module({ imports: [shared] })
    class Feature {}
    const { admitted } = await start({
      rateLimit: false,
      imports: [Feature, shared],
      controllers: [controller({})],
    });

    expect(await admitted('/search', 6)).toBe(5);
  });

  it.each<[string, RouteTierOptions, RouteTierOptions]>([
    [
      'the same numbers',
      { policy: perMinute(3) },
      { algorithm: 'fixed-window', limit: 3, window: 60_000 },
    ],
    [
      'numbers that depend on the request',
      { policy: perMinute(3) },
      { algorithm: 'fixed-window', limit: () => 3, window: '1m' },
    ],
    ['another name', { policy: perMinute(3) }, { name: 'imports', policy: perMinute(4) }],
    ['another scope', { policy: perMinute(3) }, { scope: 'other', policy: perMinute(4) }],
  ])('not one scope with %s', async (_what, one, other) => {
    const controllers = [
      controller({ name: 'First', onMethod: [RateLimit(exportsTier(one))] }),
      controller({ name: 'Search', onMethod: [RateLimit(exportsTier(other))] }),
    ];

    expect(await bootError({}, controllers)).toBeUndefined();
  });
});

describe('a tier that no guard decides is found at boot', () => {
  const limited = (more: Decorators[] = [], onClass: Decorators[] = []) =>
    controller({ onMethod: [RateLimit(perMinute(1)), ...more], onClass });
  const limitedLate = (more: Decorators[] = [], onClass: Decorators[] = []) =>
    controller({
      onMethod: [RateLimit({ policy: perMinute(1), phase: 'handler' }), ...more],
      onClass,
    });

  class OwnGuard extends RateLimitGuard {}
  @Injectable({ scope: Scope.REQUEST })
  class RequestGuard extends RateLimitGuard {}
  class OtherGuard implements CanActivate {
    canActivate() {
      return true;
    }
  }

  /** Asks ours where it sees fit. */
  @Injectable()
  class ComposedGuard implements CanActivate {
    constructor(private readonly guard: RateLimitGuard) {}
    canActivate(context: ExecutionContext) {
      return this.guard.canActivate(context);
    }
  }

  @WebSocketGateway()
  class Gateway {
    @SubscribeMessage('ping') @RateLimit(perMinute(1)) ping() {}
  }

  async function boot(rateLimit: object, parts: AppParts) {
    const { log } = await start({
      rateLimit: { registerGuard: false, ...rateLimit },
      ...parts,
    });
    return log.map(({ level, text }) => `${level} ${text}`);
  }

  const neverDecided = (where: string, decider: string, decorator: string) =>
    `RateLimit: @RateLimit on ${where}: 'route' is never decided: ${decider} reaches no such route; expected registerGuard: true, or ${decorator}(${decider})`;

  it.each<[string, ModuleMetadata, string]>([
    [
      'a route',
      { controllers: [limited()] },
      neverDecided('Search.find', 'RateLimitGuard', '@UseGuards'),
    ],
    [
      'a route of a limited class',
      { controllers: [controller({ onClass: [RateLimit(perMinute(1))] })] },
      neverDecided('Search.find', 'RateLimitGuard', '@UseGuards'),
    ],
    [
      'a route with a guard of another kind',
      { controllers: [limited([UseGuards(OtherGuard)])] },
      neverDecided('Search.find', 'RateLimitGuard', '@UseGuards'),
    ],
    [
      'a message',
      { providers: [Gateway] },
      neverDecided('Gateway.ping', 'RateLimitGuard', '@UseGuards'),
    ],
    [
      'a handler tier that only the guard reaches',
      { controllers: [limitedLate([UseGuards(RateLimitGuard)])] },
      neverDecided('Search.find', 'RateLimitInterceptor', '@UseInterceptors'),
    ],
    [
      'a guard tier that only the interceptor reaches',
      { controllers: [limited([UseInterceptors(RateLimitInterceptor)])] },
      neverDecided('Search.find', 'RateLimitGuard', '@UseGuards'),
    ],
  ])('%s', async (_what, parts, message) => {
    await expect(boot({}, parts)).rejects.toThrow(message);
  });

  it.each<[string, AppParts]>([
    ['a guard on the method', { controllers: [limited([UseGuards(RateLimitGuard)])] }],
    ['a guard on the class', { controllers: [limited([], [UseGuards(RateLimitGuard)])] }],
    ['a guard that extends it', { controllers: [limited([UseGuards(OwnGuard)])] }],
    [
      'a guard of the app',
      { controllers: [limited()], providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] },
    ],
    [
      'a request-scoped guard of the app',
      { controllers: [limited()], providers: [{ provide: APP_GUARD, useClass: RequestGuard }] },
    ],
    [
      'the guard of the module for the app',
      {
        controllers: [limited()],
        providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
      },
    ],
    [
      'app.useGlobalGuards',
      {
        controllers: [limited()],
        prepare: (app) => app.useGlobalGuards(app.get(RateLimitGuard)),
      },
    ],
    [
      'a guard of the app that asks it',
      { controllers: [limited()], providers: [{ provide: APP_GUARD, useClass: ComposedGuard }] },
    ],
    [
      'an interceptor on the method',
      { controllers: [limitedLate([UseInterceptors(RateLimitInterceptor)])] },
    ],
    [
      'an interceptor on the class',
      { controllers: [limitedLate([], [UseInterceptors(RateLimitInterceptor)])] },
    ],
    [
      'an interceptor of the app',
      {
        controllers: [limitedLate()],
        providers: [{ provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }],
      },
    ],
    [
      'app.useGlobalInterceptors',
      {
        controllers: [limitedLate()],
        prepare: (app) => app.useGlobalInterceptors(app.get(RateLimitInterceptor)),
      },
    ],
  ])('not with %s, which limits', async (_what, parts) => {
    const { ask, log } = await start({ rateLimit: { registerGuard: false }, ...parts });
    await ask('/search');

    expect((await ask('/search')).status).toBe(429);
    expect(log.filter(({ text }) => text.includes('decided for no route'))).toEqual([]);
  });

  it.each<[string, TierOptions[], Type[], string[]]>([
    [
      'a tier of forRoot',
      [plan],
      [controller({})],
      [
        "warn tiers[0]: 'plan' is decided for no route: registerGuard is false, and @UseGuards(RateLimitGuard) is nowhere",
      ],
    ],
    [
      'a handler tier of forRoot beside a guard',
      [plan, late],
      [controller({ onMethod: [UseGuards(RateLimitGuard)] })],
      [
        "warn tiers[1]: 'late' is decided for no route: registerGuard is false, and @UseInterceptors(RateLimitInterceptor) is nowhere",
      ],
    ],
    ['nothing', [plan], [controller({ onMethod: [UseGuards(RateLimitGuard)] })], []],
    ['nothing of the edge', [{ ...plan, phase: 'edge' }], [controller({})], []],
  ])('warns of %s, which LimiterService may count', async (_what, tiers, controllers, log) => {
    expect(await boot({ tiers }, { controllers })).toEqual(log);
  });

  it('not when a test turns limits off, or the guard into another', async () => {
    expect(await boot({ enabled: false }, { controllers: [limited()] })).toEqual([]);

    const { admitted } = await start({
      controllers: [limited()],
      override: (builder) =>
        builder.overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }),
    });
    expect(await admitted('/search', 3)).toBe(3);
  });

  it('not in a worker that has the modules of an app', async () => {
    const rateLimit: RateLimitOptions = { tiers: [plan] };
    @Module({
      imports: [RateLimitModule.forRoot({ ...rateLimit, registerGuard: false })],
      controllers: [limited()],
    })
    class App {}

    const worker = await NestFactory.createApplicationContext(App, { logger: false });

    await expect(worker.close()).resolves.toBeUndefined();
  });
});

describe('a handler that nothing of Nest leads to', () => {
  function jobs(tier: RouteTierOptions): Type {
    @Injectable()
    class Jobs {
      @SetMetadata('queue', 'mail') @RateLimit(tier) send() {}
    }
    return Jobs;
  }
  const warning =
    "@RateLimit on Jobs.send: no route, message or field of Nest's leads to it, so it is limited only if what calls it runs guards, and it is counted under the names of class and method; with a scope it keeps its counters when they change";

  it.each<[string, RouteTierOptions, string[]]>([
    ['is warned of (SEC-27)', { policy: perMinute(1) }, [warning]],
    ['keeps its counters by its scope (SEC-27)', { policy: perMinute(1), scope: 'mail' }, []],
  ])('%s', async (_fact, tier, expected) => {
    const { log } = await start({ providers: [jobs(tier)] });

    expect(log.filter(({ level }) => level === 'warn').map(({ text }) => text)).toEqual(expected);
  });
});
