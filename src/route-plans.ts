import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
import { didYouMean } from './policies/nearest.js';
import { marksOf, type RouteMarks } from './rate-limit.decorators.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RouteIds } from './route-ids.js';
import { checkTier } from './tiers/check-tier.js';
import type { Tier } from './tiers/tier.js';

/** The tiers of a route by the phase that decides them. */
export interface RoutePlan {
  readonly guard: readonly Tier[];
  readonly handler: readonly Tier[];
}

/** A method, by which Nest and we tell routes apart. */
type Handler = object & { readonly name: string };
type Named = readonly [name: string, option: string];

/**
 * Which tiers apply to which route: worked out and checked once, at boot, for every handler that
 * the app has.
 */
@Injectable()
export class RoutePlans implements OnModuleInit {
  private readonly plans = new Map<Type, Map<Handler, RoutePlan>>();
  private readonly ids = new RouteIds();

  constructor(
    private readonly settings: RateLimitSettings,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /**
   * Whether any tier waits for the `handler` phase. Known before providers are made, so that an app
   * without one is spared an interceptor, which costs each request more than its decision.
   */
  get hasHandlerTiers(): boolean {
    return (
      this.settings.tiers.some(({ phase }) => phase === 'handler') ||
      [...this.handlers()].some(({ type, handler }) =>
        [...marksOf(type).tiers, ...marksOf(handler).tiers].some(
          (tier) => typeof tier === 'object' && tier?.phase === 'handler',
        ),
      )
    );
  }

  /** Throws a RateLimitConfigurationError for a decorator that cannot work. */
  onModuleInit(): void {
    const names = new Set<string>();
    const skips: Named[] = [];
    for (const { type, handler, method, module } of this.handlers()) {
      this.ids.register(type, handler, method, module);
      this.make(type, handler);
      const marks: [RouteMarks, string][] = [
        [marksOf(type), type.name],
        [marksOf(handler), `${type.name}.${method}`],
      ];
      for (const [{ tiers, skipped }, place] of marks) {
        const option = `@SkipRateLimit on ${place}`;
        for (const tier of tiers) names.add((typeof tier === 'object' && tier.name) || 'route');
        if (skipped !== 'all') skips.push(...skipped.map((name): Named => [name, option]));
      }
    }
    this.checkSkips(skips, [...names]);
  }

  private *handlers(): Generator<{
    readonly type: Type;
    readonly handler: Handler;
    readonly method: string;
    readonly module: object | null | undefined;
  }> {
    const wrappers = [...this.discovery.getControllers(), ...this.discovery.getProviders()];
    for (const { metatype, host } of wrappers) {
      if (typeof metatype !== 'function' || !isClass(metatype)) continue;
      const prototype = metatype.prototype as Record<string, Handler>;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[method]!;
        // Without metadata nothing reaches it, whatever else a provider can do.
        if (Reflect.getMetadataKeys(handler).length === 0) continue;
        yield { type: metatype as Type, handler, method, module: host?.metatype };
      }
    }
  }

  of(type: Type, handler: Handler): RoutePlan {
    const plan = this.plans.get(type)?.get(handler);
    return plan ?? this.make(type, handler);
  }

  private make(type: Type, handler: Handler): RoutePlan {
    const ofClass = marksOf(type);
    const ofMethod = marksOf(handler);
    const place = `${type.name}.${handler.name}`;
    if (ofMethod.skipped === 'all' && ofMethod.tiers.length > 0) {
      throw new RateLimitConfigurationError(
        `@SkipRateLimit on ${place}`,
        'skips every tier, and @RateLimit beside it adds one; expected one of them, or names to skip',
      );
    }
    const id = this.ids.of(type, handler);
    const own = this.tiersOf(ofMethod, `@RateLimit on ${place}`, id);
    const shared = this.tiersOf(ofClass, `@RateLimit on ${type.name}`, id).filter(
      ({ name }) => !own.some((tier) => tier.name === name),
    );
    const fromRoot = this.settings.tiers.filter(({ phase }) => phase !== 'edge');
    const tiers = [...fromRoot, ...shared]
      .filter(({ name }) => !isSkipped(name, ofClass) && !isSkipped(name, ofMethod))
      .concat(own.filter(({ name }) => !isSkipped(name, ofMethod)));
    const plan = {
      guard: tiers.filter(({ phase }) => phase === 'guard'),
      handler: tiers.filter(({ phase }) => phase === 'handler'),
    };
    const plans = this.plans.get(type) ?? new Map<Handler, RoutePlan>();
    this.plans.set(type, plans.set(handler, plan));
    return plan;
  }

  private tiersOf(marks: RouteMarks, option: string, id: string): Tier[] {
    const { onStoreFailure, identities, tiers: fromRoot } = this.settings;
    const tiers = marks.tiers.map((written) =>
      checkTier(typeof written === 'string' ? { policy: written } : written, {
        option,
        onStoreFailure,
        route: { id },
        identities,
      }),
    );
    for (const [index, { name }] of tiers.entries()) {
      const isOfRoot = fromRoot.some((tier) => tier.name === name);
      if (isOfRoot || tiers.findIndex((tier) => tier.name === name) !== index) {
        throw new RateLimitConfigurationError(
          option,
          isOfRoot
            ? `'${name}' is a tier of forRoot, which applies too; expected another name, or @SkipRateLimit('${name}') and another name`
            : `two tiers are named '${name}'; give them names of their own`,
        );
      }
    }
    return tiers;
  }

  private checkSkips(skips: readonly Named[], ofRoutes: readonly string[]): void {
    const fromRoot = this.settings.tiers;
    for (const [name, option] of skips) {
      const tier = fromRoot.find((known) => known.name === name);
      if (tier?.phase === 'edge') {
        throw new RateLimitConfigurationError(
          option,
          `'${name}' is decided in the edge phase, before the route is known; use exempt.paths`,
        );
      }
      const known = [...new Set([...fromRoot.map((root) => root.name), ...ofRoutes])];
      if (tier === undefined && !known.includes(name)) {
        throw new RateLimitConfigurationError(
          option,
          `no tier is named '${name}'${didYouMean(name, known) || `, expected one of ${known.map((other) => `'${other}'`).join(', ')}`}`,
        );
      }
    }
  }
}

function isSkipped(name: string, { skipped }: RouteMarks): boolean {
  return skipped === 'all' || skipped.includes(name);
}

/** A provider may be made by an arrow function, which has no methods to guard. */
function isClass(value: object): value is { name: string; prototype: object } {
  return 'prototype' in value && typeof value.prototype === 'object' && value.prototype !== null;
}
