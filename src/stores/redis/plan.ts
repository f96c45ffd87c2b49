import type { Policy } from '../../policies/policy.js';
import type { Charge, Operation, Verb } from '../rate-limit.store.js';
import { adjacentOrder } from './adjacent.js';
import { isJoined, valueKeyOf } from './value-key.js';

/** Shapes that begin with one policy: more than the routes it stands on are costs without end. */
const MAX_SHAPES = 16;

/** A policy's arguments, made once: routes and plans keep their policies. */
const policyArgs = new WeakMap<Policy, readonly string[]>();
/** By the policy of the first charge, the latest last. */
const shapes = new WeakMap<Policy, Shape[]>();

/** What operations have in common that differ in nothing but their keys. */
export class Shape {
  private written: readonly string[] | undefined;

  constructor(
    private readonly verb: Verb,
    private readonly charges: readonly Charge[],
  ) {}

  /** What `lua/decide.lua` is told of it. */
  get args(): readonly string[] {
    this.written ??= [
      this.verb,
      String(this.charges.length),
      ...this.charges.flatMap(({ policy, cost, shared, isShadow }, index) => {
        const marks = (isShadow === true ? 0 : 1) + (isJoined(this.charges, index) ? 2 : 0);
        return [...argsOf(policy), String(cost), String(marks), String(shared?.field ?? 0)];
      }),
    ];
    return this.written;
  }

  isOf(verb: Verb, charges: readonly Charge[]): boolean {
    if (verb !== this.verb || charges.length !== this.charges.length) return false;
    for (let index = 0; index < charges.length; index++) {
      const { policy, cost, shared, isShadow = false } = charges[index]!;
      const charge = this.charges[index]!;
      if (policy !== charge.policy || cost !== charge.cost) return false;
      if (isShadow !== (charge.isShadow ?? false) || shared?.field !== charge.shared?.field) {
        return false;
      }
      if (isJoined(charges, index) !== isJoined(this.charges, index)) return false;
    }
    return true;
  }
}

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

/** The same object for operations of one shape, so that they are told apart at a glance. */
function shapeOf(verb: Verb, charges: readonly Charge[]): Shape {
  if (charges.length === 0) return new Shape(verb, charges);
  const { policy } = charges[0]!;
  const known = shapes.get(policy);
  const same = known?.findLast((shape) => shape.isOf(verb, charges));
  if (same !== undefined) return same;
  const shape = new Shape(verb, charges);
  if (known === undefined) shapes.set(policy, [shape]);
  else {
    if (known.length >= MAX_SHAPES) known.shift();
    known.push(shape);
  }
  return shape;
}

function argsOf(policy: Policy): readonly string[] {
  let args = policyArgs.get(policy);
  if (args === undefined) {
    const { algorithm, limit, windowMs, burst, maxDelayMs, rate, unit } = policy;
    args = [algorithm, ...[limit, windowMs, burst, maxDelayMs, rate, unit].map(String)];
    policyArgs.set(policy, args);
  }
  return args;
}
