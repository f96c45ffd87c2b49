import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Client } from './identity/client.js';
import type { PolicyText } from './policies/policy.js';
import type { Decision } from './stores/rate-limit.store.js';
import type { RouteTierOptions } from './tiers/tier-options.js';
import { carrierOf } from './transports/carrier.js';
import { knownVisit } from './visit.js';

/** What decorators left on a class or a method; one record under one key. */
export interface RouteMarks {
  /** Tiers as written, in the order they are read. */
  readonly tiers: readonly (RouteTierOptions | PolicyText)[];
  /** Tiers that are skipped by name, or all of them. */
  readonly skipped: readonly string[] | 'all';
}

const MARKS = 'nestjs-sluice:marks';
const NO_MARKS: RouteMarks = { tiers: [], skipped: [] };

type Decorated = ClassDecorator & MethodDecorator;
type WrittenTier = RouteTierOptions | PolicyText;

/**
 * Limits a route, or every route of a class, each on its own: for each client, in addition to the
 * tiers of `forRoot`. A method's tier replaces the class's of the same `name`; different names both
 * apply. Checked at boot.
 *
 * @example
 * @RateLimit({ algorithm: 'gcra', limit: 10, window: '1m', burst: 3 })
 * @RateLimit('sliding-window-counter:100/1m')
 */
export function RateLimit(tiers: WrittenTier | readonly WrittenTier[]): Decorated {
  // An empty list is kept as it is, for the check at boot to refuse.
  const isList = Array.isArray(tiers) && tiers.length > 0;
  const written = (isList ? tiers : [tiers]) as readonly WrittenTier[];
  // Decorators run from the bottom up; the one on top is read first.
  return mark((marks) => ({ ...marks, tiers: [...written, ...marks.tiers] }));
}

/**
 * Skips the named tiers, or without a name every tier but those the edge has decided already. What
 * stands on a method is stronger than what stands on its class.
 */
export function SkipRateLimit(...names: string[]): Decorated {
  return mark((marks) => ({
    ...marks,
    skipped: names.length === 0 || marks.skipped === 'all' ? 'all' : [...marks.skipped, ...names],
  }));
}

/** Gives a handler the decisions of its request so far, tier by tier. */
export const RateLimitResult = createParamDecorator(
  (_data: unknown, context: ExecutionContext): readonly Decision[] =>
    knownVisit(carrierOf(context))?.decided.map(({ decision }) => decision) ?? [],
);

/**
 * Gives a handler the client that its tiers counted: a verified API key's holder with its
 * attributes, a user, or an address. Where no tier asked for more, an address.
 */
export const RateLimitClient = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Client | undefined =>
    knownVisit(carrierOf(context))?.identity.known,
);

export function marksOf(target: object): RouteMarks {
  return (Reflect.getMetadata(MARKS, target) as RouteMarks | undefined) ?? NO_MARKS;
}

/** Of the target itself: a subclass does not pass its own marks to its parent's. */
function mark(change: (marks: RouteMarks) => RouteMarks): Decorated {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const marked: object = descriptor === undefined ? target : (descriptor.value as object);
    const own = Reflect.getOwnMetadata(MARKS, marked) as RouteMarks | undefined;
    Reflect.defineMetadata(MARKS, change(own ?? NO_MARKS), marked);
  };
}
