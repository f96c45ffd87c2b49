import { printed } from '../policies/configuration-error.js';

/** A call that cannot be right, such as a cost of NaN. Tell it by `code`. */
export class RateLimitUsageError extends TypeError {
  override readonly name = 'RateLimitUsageError';
  readonly code = 'RATE_LIMIT_USAGE';
}

/** A cost is whole units from 0 to 2^53 − 1; anything else throws before any I/O. */
export function checkCost(cost: unknown): asserts cost is number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0 && !Object.is(cost, -0)) return;
  throw new RateLimitUsageError(
    `cost: received ${printed(cost)}, expected a whole number from 0 to 2^53 - 1`,
  );
}
