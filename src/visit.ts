import type { ReportedTier } from './http/reported-tier.js';
import type { RequestIdentity } from './identity/request-identity.js';
import type { Decision } from './stores/rate-limit.store.js';
import type { Phase } from './tiers/tier-options.js';

/** A tier of a request after its decision. */
export interface DecidedTier extends ReportedTier {
  readonly decision: Decision;
  /** A shadow tier is told to the app and not to the client. */
  readonly isShadow: boolean;
}

/** What is known of one request, from its first phase to its last. */
export class Visit {
  readonly phases = new Set<Phase>();
  readonly decided: DecidedTier[] = [];

  constructor(readonly identity: RequestIdentity) {}
}

const visits = new WeakMap<object, Visit>();

/** The visit that `carrier`, an object that lives as long as the request, belongs to. */
export function visitOf(carrier: object, identify: () => RequestIdentity): Visit {
  let visit = visits.get(carrier);
  if (visit === undefined) {
    visit = new Visit(identify());
    visits.set(carrier, visit);
  }
  return visit;
}

export function knownVisit(carrier: object | undefined): Visit | undefined {
  return carrier === undefined ? undefined : visits.get(carrier);
}
