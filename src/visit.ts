import type { ReportedTier } from './http/reported-tier.js';
import type { RequestIdentity } from './identity/request-identity.js';
import type { Decision } from './stores/rate-limit.store.js';
import type { Tier } from './tiers/tier.js';

/** A tier of a request after its decision. */
export interface DecidedTier extends ReportedTier {
  readonly decision: Decision;
  /** A shadow tier is told to the app and not to the client. */
  readonly isShadow: boolean;
}

/** What is known of one request, from its first phase to its last. */
export class Visit {
  readonly decided: DecidedTier[] = [];
  private counted: readonly Tier[] = [];

  constructor(readonly identity: RequestIdentity) {}

  /** Those that have not counted it yet, and now do: each counts a request once. */
  count(tiers: readonly Tier[]): readonly Tier[] {
    if (this.counted.length === 0) {
      this.counted = tiers;
      return tiers;
    }
    const due = tiers.filter((tier) => !this.counted.includes(tier));
    if (due.length > 0) this.counted = [...this.counted, ...due];
    return due;
  }
}

/** On the carrier itself: a weak map with an entry a request keeps the garbage collector busy. */
const VISIT = Symbol.for('nestjs-sluice:visit');
type Carrier = object & { [VISIT]?: Visit };

/** Of carriers that nothing can be put on. */
const visits = new WeakMap<object, Visit>();

/** The visit that `carrier`, an object that lives as long as the request, belongs to. */
export function visitOf(carrier: object, identify: () => RequestIdentity): Visit {
  const known = knownVisit(carrier);
  if (known !== undefined) return known;
  const visit = new Visit(identify());
  if (Object.isExtensible(carrier)) (carrier as Carrier)[VISIT] = visit;
  else visits.set(carrier, visit);
  return visit;
}

export function knownVisit(carrier: object | undefined): Visit | undefined {
  if (carrier === undefined) return undefined;
  // Not one of a request that it was made from.
  if (Object.hasOwn(carrier, VISIT)) return (carrier as Carrier)[VISIT];
  return Object.isExtensible(carrier) ? undefined : visits.get(carrier);
}
