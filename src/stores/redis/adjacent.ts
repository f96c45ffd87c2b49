import type { Charge, Decision } from '../rate-limit.store.js';
import { valueKeyOf } from './value-key.js';

/**
 * The places of charges in an order in which those of one value follow each other, which the script
 * decides quickest; undefined where they do so already. Charges of different values say nothing of each
 * other, and those of one keep their order, so every order has the same outcome.
 */
export function adjacentOrder(charges: readonly Charge[]): readonly number[] | undefined {
  if (!isInterleaved(charges)) return undefined;
  const byValue = new Map<string, number[]>();
  for (const [place, charge] of charges.entries()) {
    const key = valueKeyOf(charge);
    const places = byValue.get(key);
    if (places === undefined) byValue.set(key, [place]);
    else places.push(place);
  }
  return [...byValue.values()].flat();
}

/** What was decided in an order, as it was asked. */
export function inOrderAsked(
  decided: readonly Decision[],
  order: readonly number[],
): readonly Decision[] {
  const decisions: Decision[] = [];
  for (const [index, place] of order.entries()) decisions[place] = decided[index]!;
  return decisions;
}

/** Whether a value comes again after another one. */
function isInterleaved(charges: readonly Charge[]): boolean {
  let last: string | undefined;
  // Mostly all are of one value, and nothing has to be remembered.
  let seen: Set<string> | undefined;
  for (const charge of charges) {
    const key = valueKeyOf(charge);
    if (key === last) continue;
    if (last !== undefined) {
      seen ??= new Set();
      if (seen.has(key)) return true;
      seen.add(last);
    }
    last = key;
  }
  return false;
}
