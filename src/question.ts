import type { ExecutionContext } from '@nestjs/common';
import type { Tier } from './tiers/tier.js';
import type { Phase } from './tiers/tier-options.js';
import type { Visit } from './visit.js';

/** A request in one of its phases, as every transport can tell it. */
export interface Question {
  readonly visit: Visit;
  readonly phase: Phase;
  readonly tiers: readonly Tier[];
  /** Whether nobody but an address can be known yet: at the edge, and before a key is verified. */
  readonly isAnonymous?: boolean;
  readonly request: unknown;
  /** Absent in the edge phase. */
  readonly execution?: ExecutionContext;
}
