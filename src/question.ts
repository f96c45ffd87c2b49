import type { ExecutionContext } from '@nestjs/common';
import type { Asker } from './asker.js';
import type { Tier } from './tiers/tier.js';
import type { Phase } from './tiers/tier-options.js';
import type { Visit } from './visit.js';

/** A request in one of its phases, as every transport can tell it. */
export interface Question {
  readonly visit: Visit;
  readonly asker: Asker;
  readonly phase: Phase;
  readonly tiers: readonly Tier[];
  readonly request: unknown;
  /** Absent in the edge phase. */
  readonly execution?: ExecutionContext;
}
