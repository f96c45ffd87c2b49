import {
  Controller,
  Get,
  Injectable,
  Module,
  Scope,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
  type MiddlewareConsumer,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import * as fc from 'fast-check';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  type IdentityOptions,
  type TierOptions,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing/index.js';
import { START_MS, platforms, type AppParts, type Ask } from '../support/platforms.js';

const perMinute = (limit: number) => `fixed-window:${limit}/1m` as const;
const PHASES = ['edge', 'guard', 'handler'] as const;

type Phase = (typeof PHASES)[number];
type Request = { headers: Record<string, string>; user?: { id: string }; raw?: Request };

const USERS = ['ann', 'ben'];
const KEYS: Record<string, { id: string }> = {
  'sk-acme': { id: 'acme' },
  'sk-bolt': { id: 'bolt' },
};

const identity: IdentityOptions = {
  apiKey: { verify: (key) => KEYS[key] ?? null },
  // Middleware on Fastify sees Node's request, which Fastify's calls `raw`.
  user: (request: Request) => (request.user ?? request.raw?.user)?.id,
};

/** Knows its users by a token, and turns everybody else away. */
function authenticate(request: Request): void {
  const [, id] = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '') ?? [];
  if (id === undefined || !USERS.includes(id)) throw new UnauthorizedException();
  request.user = { id };
}

@Injectable()
class Auth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    authenticate(context.switchToHttp().getRequest<Request>());
    return true;
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestScopedAuth extends Auth {}

@Module({ providers: [{ provide: APP_GUARD, useClass: Auth }] })
class AuthModule {}

@Module({})
class AuthMiddlewareModule {
  configure(consumer: MiddlewareConsumer) {
    consumer
      .apply((request: Request, _response: unknown, next: () => void) => {
        authenticate(request);
        next();
      })
      .forRoutes('*path');
  }
}

@Controller('find')
class Open {
  @Get() find() {}
}

@Controller('find')
@UseGuards(Auth)
class GuardedClass {
  @Get() find() {}
}

@Controller('find')
class GuardedMethod {
  @Get() @UseGuards(Auth) find() {}
}

const token = (id: string, from?: string): Ask => ({
  headers: { authorization: `Bearer ${id}` },
  ...(from !== undefined && { from }),
});

/** Imports before and after RateLimitModule, and the rest of the app. */
interface Place extends Omit<AppParts, 'imports' | 'rateLimit'> {
  readonly before?: Type[];
  readonly after?: Type[];
}

const open = { controllers: [Open] };
const root = { provide: APP_GUARD, useClass: Auth };
// Where the app authenticates, and whether the user is known in the guard phase: docs/phases.md.
const places: [string, Place, boolean][] = [
  ['a guard of the root module', { ...open, providers: [root] }, true],
  ['a guard of a module imported before', { ...open, before: [AuthModule] }, true],
  ['a guard of a module imported after', { ...open, after: [AuthModule] }, false],
  [
    'a request-scoped guard of the root module',
    { ...open, providers: [{ provide: APP_GUARD, useClass: RequestScopedAuth }] },
    false,
  ],
  ['app.useGlobalGuards', { ...open, prepare: (app) => app.useGlobalGuards(new Auth()) }, false],
  ['a guard of the controller', { controllers: [GuardedClass] }, false],
  ['a guard of the method', { controllers: [GuardedMethod] }, false],
  ['a middleware of a module', { ...open, before: [AuthMiddlewareModule] }, true],
];

describe.each(platforms)('on $name', ({ start }) => {
  function startAt({ before = [], after = [], ...place }: Place, tiers: TierOptions[]) {
    const clock = new ManualClock(START_MS);
    const limits = RateLimitModule.forRoot({ clock, identity, tiers });
    return start({ rateLimit: false, imports: [...before, limits, ...after], ...place });
  }

  const tier = (phase: Phase, limit: number): TierOptions => ({
    name: 'plan',
    phase,
    policy: perMinute(limit),
  });

  describe('who is counted (SEC-20, user report 37)', () => {
    const rows = places.flatMap(([where, place, isKnownToGuards]) =>
      PHASES.map((phase): [Phase, string, string, Place] => [
        phase,
        where,
        phase === 'handler' || (phase === 'guard' && isKnownToGuards) ? 'user' : 'address',
        place,
      ]),
    );

    it.each(rows)('in the %s phase, with %s: the %s', async (phase, _where, counted, place) => {
      const { ask } = await startAt(place, [tier(phase, 1)]);
      expect((await ask('/find', token('ann'))).status).toBe(200);

      const another = await ask('/find', token('ben'));
      const elsewhere = await ask('/find', token('ann', '127.0.0.2'));

      expect([another.status, elsewhere.status]).toEqual(
        counted === 'user' ? [200, 429] : [429, 200],
      );
    });
  });

  describe('requests that authentication turns away', () => {
    // A tier counts them where it is decided before the guard that turns them away.
    const rows = places.flatMap(([where, place, isKnownToGuards]) =>
      PHASES.map((phase): [Phase, string, string, Place] => [
        phase,
        where,
        phase === 'edge' || (phase === 'guard' && !isKnownToGuards) ? 'are' : 'are not',
        place,
      ]),
    );

    it.each(rows)('in the %s phase, with %s: %s counted', async (phase, _where, are, place) => {
      const { ask } = await startAt(place, [tier(phase, 2)]);

      const statuses = [];
      for (let n = 0; n < 3; n++) {
        statuses.push((await ask('/find', token(`guess-${n}`))).status);
      }

      expect(statuses).toEqual([401, 401, are === 'are' ? 429 : 401]);
    });
  });

  describe('a tier is charged once a request (SEC-36, user report 38)', () => {
    @Controller('often')
    @UseGuards(RateLimitGuard, RateLimitGuard)
    @UseInterceptors(RateLimitInterceptor, RateLimitInterceptor)
    @RateLimit({ name: 'class', policy: perMinute(9) })
    class Often {
      @Get()
      @UseGuards(RateLimitGuard, RateLimitGuard)
      @UseInterceptors(RateLimitInterceptor, RateLimitInterceptor)
      @RateLimit({ name: 'late', policy: perMinute(8), phase: 'handler' })
      find() {}
    }

    it.each<[string, ModuleMetadata, boolean]>([
      ['on the app, the class and the method', {}, true],
      ['on the class and the method', {}, false],
      [
        "on the app once more, by a provider of the app's",
        {
          providers: [
            { provide: APP_GUARD, useClass: RateLimitGuard },
            { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor },
          ],
        },
        true,
      ],
    ])('however often it is reached: %s', async (_where, more, registerGuard) => {
      const { ask } = await start({
        rateLimit: {
          registerGuard,
          headers: ['draft-8'],
          tiers: [
            { name: 'front', policy: perMinute(7), phase: 'edge' },
            { name: 'plan', policy: perMinute(6) },
            { name: 'account', policy: perMinute(5), phase: 'handler' },
          ],
        },
        controllers: [Often],
        ...more,
      });

      for (const left of [1, 2]) {
        const { headers } = await ask('/often');
        const told = Object.fromEntries(
          String(headers['ratelimit'])
            .split(', ')
            .map((item) => [/"(\w+)"/.exec(item)![1], Number(/r=(\d+)/.exec(item)![1])]),
        );
        expect(told).toEqual({
          front: 7 - left,
          plan: 6 - left,
          class: 9 - left,
          account: 5 - left,
          late: 8 - left,
        });
      }
    });
  });

  describe('an identity that changes within a window (SEC-22)', () => {
    const tiers: TierOptions[] = [
      { name: 'front', by: 'ip', policy: perMinute(9), phase: 'edge' },
      { name: 'address', by: 'ip', policy: perMinute(7) },
      { name: 'client', policy: perMinute(3) },
      { name: 'key', by: 'api-key', policy: perMinute(2) },
      { name: 'account', by: 'user', policy: perMinute(2), phase: 'handler' },
    ];

    @Injectable()
    class LenientAuth implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const request = context.switchToHttp().getRequest<Request>();
        if (request.headers['authorization'] !== undefined) authenticate(request);
        return true;
      }
    }
    const parts = { ...open, providers: [{ provide: APP_GUARD, useClass: LenientAuth }] };
    const as: Record<string, Ask> = {
      nobody: {},
      ann: token('ann'),
      ben: token('ben'),
      acme: { headers: { 'x-api-key': 'sk-acme' } },
      bolt: { headers: { 'x-api-key': 'sk-bolt' } },
      'made up': { headers: { 'x-api-key': 'sk-nobody' } },
      'acme as ann': { headers: { 'x-api-key': 'sk-acme', authorization: 'Bearer ann' } },
    };

    it('charges each tier that applies, and leaves the address as it was', async () => {
      const { ask } = await startAt(parts, tiers);

      const seen = [];
      // Two of each, then whoever is new: the address has had its seven.
      for (const who of ['nobody', 'acme', 'ann', 'nobody', 'acme', 'ann', 'bolt', 'ben']) {
        const { status, body } = await ask('/find', as[who]);
        seen.push([who, status, body['violated-policies']]);
      }

      expect(seen).toEqual([
        ...['nobody', 'acme', 'ann', 'nobody', 'acme', 'ann', 'bolt'].map((who) => [
          who,
          200,
          undefined,
        ]),
        ['ben', 429, ['address']],
      ]);
    });

    it('names the tier of the identity that is used up', async () => {
      const { ask } = await startAt(parts, tiers);
      for (const who of ['acme', 'acme', 'ann', 'ann']) await ask('/find', as[who]);

      expect((await ask('/find', as['acme'])).body['violated-policies']).toEqual(['key']);
      expect((await ask('/find', as['ann'])).body['violated-policies']).toEqual(['account']);
      expect((await ask('/find')).status).toBe(200);
    });

    it('never admits more than the tiers of the address, in whatever order', async () => {
      const orders = fc.array(fc.constantFrom(...Object.keys(as)), {
        minLength: 12,
        maxLength: 16,
      });

      await fc.assert(
        fc.asyncProperty(orders, async (order) => {
          const { app, ask } = await startAt(parts, tiers);
          const admitted: string[] = [];
          let edge = 0;
          for (const who of order) {
            const { status, body } = await ask('/find', as[who]);
            if (status === 200) admitted.push(who);
            if (body['violated-policies']?.[0] !== 'front') edge++;
          }
          const of = (...names: string[]) => admitted.filter((who) => names.includes(who)).length;

          expect(edge).toBe(9);
          expect(admitted.length).toBeLessThanOrEqual(7);
          expect(of('nobody', 'made up')).toBeLessThanOrEqual(3);
          expect(of('acme', 'acme as ann')).toBeLessThanOrEqual(2);
          expect(of('ann', 'acme as ann')).toBeLessThanOrEqual(2);
          await app.close();
        }),
        { numRuns: 20 },
      );
    });
  });
});
