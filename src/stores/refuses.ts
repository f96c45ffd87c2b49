import type { Charge, Decision } from './rate-limit.store.js';

/** Whether an operation is refused as a whole: what only shadow charges refuse is not. */
export function refuses(decisions: readonly Decision[], charges: readonly Charge[]): boolean {
  for (let index = 0; index < charges.length; index++) {
    if (!decisions[index]!.allowed && charges[index]!.isShadow !== true) return true;
  }
  return false;
}
