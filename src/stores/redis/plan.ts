import type { Charge, Operation } from '../rate-limit.store.js';
import { adjacentOrder } from './adjacent.js';
import { shapeOf, type Shape } from './shape.js';
import { valueKeyOf } from './value-key.js';

/** How the script is asked an operation. */
export class Plan {
  /** In the order in which the script decides them. */
  readonly charges: readonly Charge[];
  /** Their places in the operation; undefined where that has the same order. */
  readonly order: readonly number[] | undefined;
  /** The key of each charge's value, once where it is that of the charge before. */
  readonly keys: readonly string[];
  readonly shape: Shape;

  constructor({ verb, charges }: Operation) {
    this.order = adjacentOrder(charges);
    this.charges = this.order?.map((place) => charges[place]!) ?? charges;
    this.keys = keysOf(this.charges);
    this.shape = shapeOf(verb, this.charges);
  }
}

/** Worked out once for an operation that is asked again. */
export function planOf(operation: Operation): Plan {
  const { memo } = operation;
  if (memo === undefined) return new Plan(operation);
  if (memo.found instanceof Plan) return memo.found;
  const plan = new Plan(operation);
  memo.found = plan;
  return plan;
}

function keysOf(charges: readonly Charge[]): readonly string[] {
  const keys: string[] = [];
  let last: string | undefined;
  for (const charge of charges) {
    const key = valueKeyOf(charge);
    if (key !== last) keys.push(key);
    last = key;
  }
  return keys;
}
