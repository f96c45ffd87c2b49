import { Injectable, Logger, type OnModuleInit, type Type } from '@nestjs/common';
import {
  ApplicationConfig,
  DiscoveryService,
  HttpAdapterHost,
  MetadataScanner,
} from '@nestjs/core';
import { appRoutes, type Route } from './app-routes.js';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RoutePlans } from './route-plans.js';

/** What decides a phase, and how an app says that it does so for a route. */
interface Decider {
  readonly phase: 'guard' | 'handler';
  readonly type: Type;
  /** The one that is registered for the whole app, which a test may have replaced. */
  readonly instance: object;
  /** Those of the whole app: instances, and classes of which each request has one. */
  readonly ofApp: readonly unknown[];
  readonly decorator: string;
  /** Under which Nest's decorator leaves those of a class or a method. */
  readonly metadata: string;
}

/**
 * Finds tiers that nothing would ever decide, because the app does without the guard of the whole
 * app (`registerGuard: false`) and uses it nowhere else either: at boot, before anybody relies on
 * them.
 */
@Injectable()
export class GuardReach implements OnModuleInit {
  constructor(
    private readonly settings: RateLimitSettings,
    private readonly plans: RoutePlans,
    private readonly config: ApplicationConfig,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly host: HttpAdapterHost,
    private readonly guard: RateLimitGuard,
    private readonly interceptor: RateLimitInterceptor,
  ) {}

  /** Throws a RateLimitConfigurationError for a decorator that limits nothing. */
  onModuleInit(): void {
    // A worker is made of the modules of an app, and has none of its guards.
    if (!this.settings.enabled || !this.host.httpAdapter) return;
    const { config } = this;
    this.check({
      phase: 'guard',
      type: RateLimitGuard,
      instance: this.guard,
      ofApp: [
        ...config.getGlobalGuards(),
        ...config.getGlobalRequestGuards().map(({ metatype }) => metatype),
      ],
      decorator: '@UseGuards',
      metadata: '__guards__',
    });
    this.check({
      phase: 'handler',
      type: RateLimitInterceptor,
      instance: this.interceptor,
      ofApp: [
        ...config.getGlobalInterceptors(),
        ...config.getGlobalRequestInterceptors().map(({ metatype }) => metatype),
      ],
      decorator: '@UseInterceptors',
      metadata: '__interceptors__',
    });
  }

  private check(decider: Decider): void {
    const { phase, type, decorator } = decider;
    if (decider.ofApp.some((used) => isOf(decider, used)) || this.isInjected(type)) return;
    const decided = new Set<string>();
    for (const route of appRoutes(this.discovery, this.scanner)) {
      const tiers = this.plans.of(route.type, route.handler)[phase];
      if (isReachedBy(decider, route)) {
        for (const { name } of tiers) decided.add(name);
        continue;
      }
      const own = tiers.find((tier) => !this.settings.tiers.includes(tier));
      if (own === undefined) continue;
      throw new RateLimitConfigurationError(
        `@RateLimit on ${route.place}`,
        `'${own.name}' is never decided: ${type.name} reaches no such route; expected ` +
          `registerGuard: true, or ${decorator}(${type.name})`,
      );
    }
    for (const [index, tier] of this.settings.tiers.entries()) {
      if (tier.phase !== phase || decided.has(tier.name)) continue;
      // LimiterService may count it all the same, so that this is no error.
      new Logger('RateLimit').warn(
        `tiers[${index}]: '${tier.name}' is decided for no route: registerGuard is false, and ` +
          `${decorator}(${type.name}) is nowhere`,
      );
    }
  }

  /** A guard of the app's own may ask ours; which routes it guards is the app's to know. */
  private isInjected(type: Type): boolean {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].some(
      ({ metatype, inject }) => {
        if (metatype === GuardReach) return false;
        const injected: unknown =
          inject ?? (metatype && Reflect.getMetadata('design:paramtypes', metatype));
        return Array.isArray(injected) && injected.includes(type);
      },
    );
  }
}

function isReachedBy(decider: Decider, { type, handler }: Route): boolean {
  return [type, handler].some((target) => {
    const used = Reflect.getMetadata(decider.metadata, target) as unknown[] | undefined;
    return used?.some((one) => isOf(decider, one)) ?? false;
  });
}

/** Itself, its class, or one that extends it. */
function isOf({ type, instance }: Decider, used: unknown): boolean {
  if (typeof used === 'function') return used === type || used.prototype instanceof type;
  return used === instance || used instanceof type;
}
