import { Logger } from '@nestjs/common';
import type { AppClass, Route } from './app-routes.js';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
import { didYouMean } from './policies/nearest.js';
import { marksOf, type RouteMarks } from './rate-limit.decorators.js';
import { isReached } from './route-ids.js';
import type { Tier } from './tiers/tier.js';

/**
 * What can be said of decorators only when all of them are known. Throws a
 * RateLimitConfigurationError for what would do nothing.
 */
export function checkMarks(
  routes: readonly Route[],
  classes: readonly AppClass[],
  fromRoot: readonly Tier[],
): void {
  checkSkips(routes, fromRoot);
  const withRoutes = new Set(routes.map(({ type }) => type));
  for (const { type } of classes) {
    if (marksOf(type).tiers.length === 0 || withRoutes.has(type)) continue;
    throw new RateLimitConfigurationError(
      `@RateLimit on ${type.name}`,
      'limits nothing, because the class has no routes; expected a controller, a gateway or a resolver',
    );
  }
  for (const { handler, place } of routes) {
    const isNamed = marksOf(handler).tiers.every((tier) => typeof tier === 'object' && tier.scope);
    if (isNamed || isReached(handler)) continue;
    new Logger('RateLimit').warn(
      `@RateLimit on ${place}: no route, message or field of Nest's leads to it, so it is limited only ` +
        'if what calls it runs guards, and it is counted under the names of class and method; ' +
        'with a scope it keeps its counters when they change',
    );
  }
}

function checkSkips(routes: readonly Route[], fromRoot: readonly Tier[]): void {
  const marks = routes.flatMap(({ type, handler, place }): [RouteMarks, string][] => [
    [marksOf(type), type.name],
    [marksOf(handler), place],
  ]);
  const ofRoutes = marks.flatMap(([{ tiers }]) =>
    tiers.map((tier) => (typeof tier === 'object' && tier.name) || 'route'),
  );
  const known = [...new Set([...fromRoot.map(({ name }) => name), ...ofRoutes])];
  for (const [{ skipped }, place] of marks) {
    for (const name of skipped === 'all' ? [] : skipped) {
      const option = `@SkipRateLimit on ${place}`;
      if (fromRoot.some((tier) => tier.name === name && tier.phase === 'edge')) {
        throw new RateLimitConfigurationError(
          option,
          `'${name}' is decided in the edge phase, before the route is known; use exempt.paths`,
        );
      }
      if (known.includes(name)) continue;
      throw new RateLimitConfigurationError(
        option,
        `no tier is named '${name}'${didYouMean(name, known) || `, expected one of ${known.map((other) => `'${other}'`).join(', ')}`}`,
      );
    }
  }
}
