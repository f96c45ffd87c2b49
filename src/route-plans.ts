import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { appClasses, appRoutes, type Handler } from './app-routes.js';
import { checkMarks } from './check-marks.js';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
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

type WrittenTier = RouteMarks['tiers'][number];

/**
 * Which tiers apply to which route: worked out and checked once, at boot, for every handler that
 * the app has.
 */
@Injectable()
export class RoutePlans implements OnModuleInit {
  private readonly plans = new Map<Type, Map<Handler, RoutePlan>>();
  private readonly lists: (readonly Tier[])[] = [];
  private readonly ids = new RouteIds();
  /** What counts in each shared scope, and where it was first written. */
  private readonly shared = new Map<string, { readonly text: string; readonly option: string }>();

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
      appRoutes(this.discovery, this.scanner).some(({ type, handler }) =>
        [...marksOf(type).tiers, ...marksOf(handler).tiers].some(
          (tier) => typeof tier === 'object' && tier?.phase === 'handler',
        ),
      )
    );
  }

  /** Throws a RateLimitConfigurationError for a decorator that cannot work. */
  onModuleInit(): void {
    this.checkImports();
    const routes = appRoutes(this.discovery, this.scanner);
    for (const { type, handler, method, module } of routes) {
      this.ids.register(type, handler, method, module);
      this.make(type, handler);
    }
    checkMarks(routes, appClasses(this.discovery), this.settings.tiers);
  }

  of(type: Type, handler: Handler): RoutePlan {
    const plan = this.plans.get(type)?.get(handler);
    return plan ?? this.make(type, handler);
  }

  /** Each import would guard the app with tiers of its own, and a request is decided by the first. */
  private checkImports(): void {
    const imports = this.discovery
      .getProviders()
      .filter(({ token }) => token === RateLimitSettings).length;
    if (imports === 1) return;
    throw new RateLimitConfigurationError(
      'forRoot',
      `received ${imports} imports with options of their own, expected one, in the root module`,
    );
  }

  private make(type: Type, handler: Handler): RoutePlan {
    const ofClass = marksOf(type);
    const ofMethod = marksOf(handler);
    const place = `${type.name}.${handler.name}`;
    const id = this.ids.of(type, handler);
    const own = this.tiersOf(ofMethod, place, id);
    const shared = this.tiersOf(ofClass, type.name, id).filter(
      ({ name }) => !own.some((tier) => tier.name === name),
    );
    const fromRoot = this.settings.tiers.filter(({ phase }) => phase !== 'edge');
    const tiers = [...fromRoot, ...shared]
      .filter(({ name }) => !isSkipped(name, ofClass) && !isSkipped(name, ofMethod))
      .concat(own);
    const plan = {
      guard: this.list(tiers.filter(({ phase }) => phase === 'guard')),
      handler: this.list(tiers.filter(({ phase }) => phase === 'handler')),
    };
    const plans = this.plans.get(type) ?? new Map<Handler, RoutePlan>();
    this.plans.set(type, plans.set(handler, plan));
    return plan;
  }

  /** The same list for routes with the same tiers. */
  private list(tiers: readonly Tier[]): readonly Tier[] {
    const known = this.lists.find(
      (list) => list.length === tiers.length && list.every((tier, index) => tier === tiers[index]),
    );
    if (known !== undefined) return known;
    this.lists.push(Object.freeze(tiers));
    return tiers;
  }

  private tiersOf(marks: RouteMarks, place: string, id: string): Tier[] {
    const option = `@RateLimit on ${place}`;
    const tiers = marks.tiers.map((written) => this.tierOf(written, option, id));
    for (const [index, { name }] of tiers.entries()) {
      const isOfRoot = this.settings.tiers.some((tier) => tier.name === name);
      if (isOfRoot || tiers.findIndex((tier) => tier.name === name) !== index) {
        throw new RateLimitConfigurationError(
          option,
          isOfRoot
            ? `'${name}' is a tier of forRoot, which applies too; expected another name, or @SkipRateLimit('${name}') and another name`
            : `two tiers are named '${name}'; give them names of their own`,
        );
      }
      if (isSkipped(name, marks)) {
        const [skips, adds] = marks.skipped === 'all' ? ['every tier', 'one'] : [`'${name}'`, 'it'];
        throw new RateLimitConfigurationError(
          `@SkipRateLimit on ${place}`,
          `skips ${skips}, and @RateLimit beside it adds ${adds}; expected one of them, or names to skip`,
        );
      }
    }
    return tiers;
  }

  private tierOf(written: WrittenTier, option: string, id: string): Tier {
    const { onStoreFailure, identities, tiers: fromRoot } = this.settings;
    if (typeof written === 'string' && fromRoot.some(({ name }) => name === written)) {
      throw new RateLimitConfigurationError(
        option,
        `'${written}' is a tier of forRoot, which applies already; expected a policy, such as 'token-bucket:60/1m'`,
      );
    }
    const options = typeof written === 'string' ? { policy: written } : written;
    const tier = checkTier(options, { option, onStoreFailure, route: { id }, identities });
    const { scope } = options;
    if (scope !== undefined && tier.policy !== undefined) {
      this.checkScope(JSON.stringify([scope, tier.name]), tier.policy.text, option);
    }
    return tier;
  }

  /** Other numbers would be another counter, or one counter with two limits. */
  private checkScope(scope: string, text: string, option: string): void {
    const first = this.shared.get(scope);
    if (first === undefined) this.shared.set(scope, { text, option });
    else if (first.text !== text) {
      throw new RateLimitConfigurationError(
        `${option}.scope`,
        `shares its counter with ${first.text} of ${first.option}; received ${text}, expected the same, or another scope or name`,
      );
    }
  }
}

function isSkipped(name: string, { skipped }: RouteMarks): boolean {
  return skipped === 'all' || skipped.includes(name);
}
