import type { Policy } from '../../policies/policy.js';
import type { Charge, Verb } from '../rate-limit.store.js';
import { isJoined } from './value-key.js';

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

/** The same object for operations of one shape, so that they are told apart at a glance. */
export function shapeOf(verb: Verb, charges: readonly Charge[]): Shape {
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
