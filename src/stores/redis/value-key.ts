import type { Charge } from '../rate-limit.store.js';

/** The key of the value that a charge is counted in. */
export function valueKeyOf({ key, shared }: Charge): string {
  return shared === undefined ? key : shared.key;
}

/** Whether a charge is counted in the value of the one before it. */
export function isJoined(charges: readonly Charge[], index: number): boolean {
  return index > 0 && valueKeyOf(charges[index]!) === valueKeyOf(charges[index - 1]!);
}
