import type { Policy } from '../../policies/policy.js';
import type { Charge, Decision, Operation } from '../rate-limit.store.js';

/** What became of one operation of a batch. */
export type Outcome = readonly Decision[] | Error;

/** Numbers in the script's reply for each charge. */
const FIELDS = 4;

/** A policy's arguments, made once: routes and plans keep their policies. */
const policyArgs = new WeakMap<Policy, readonly string[]>();

/**
 * KEYS and ARGV of `lua/decide.lua`. What operations have in common, which is all but their keys, is
 * said once. `deadline` is in the server's milliseconds; undefined is none.
 */
export function encode(
  operations: readonly Operation[],
  deadline?: number,
): { keys: string[]; args: string[] } {
  const keys: string[] = [];
  const shapes: Operation[] = [];
  const shapeArgs: string[] = [];
  const runs: number[] = [];
  let shape = -1;
  for (const operation of operations) {
    for (const { key } of operation.charges) keys.push(key);
    if (shape >= 0 && hasShapeOf(operation, shapes[shape]!)) {
      runs[runs.length - 1]!++;
      continue;
    }
    shape = shapes.findIndex((other) => hasShapeOf(operation, other));
    if (shape === -1) {
      shape = shapes.push(operation) - 1;
      addShape(shapeArgs, operation);
    }
    runs.push(shape + 1, 1);
  }
  const args = [deadline === undefined ? '' : String(deadline), String(shapes.length)];
  args.push(...shapeArgs, String(runs.length / 2));
  for (const part of runs) args.push(String(part));
  return { keys, args };
}

function hasShapeOf({ verb, charges }: Operation, other: Operation): boolean {
  if (verb !== other.verb || charges.length !== other.charges.length) return false;
  for (let index = 0; index < charges.length; index++) {
    const { policy, cost, isShadow = false } = charges[index]!;
    const charge = other.charges[index]!;
    if (policy !== charge.policy || cost !== charge.cost) return false;
    if (isShadow !== (charge.isShadow ?? false)) return false;
  }
  return true;
}

function addShape(args: string[], { verb, charges }: Operation): void {
  args.push(verb, String(charges.length));
  for (const { policy, cost, isShadow } of charges) {
    args.push(...argsOf(policy), String(cost), isShadow === true ? '0' : '1');
  }
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

/** What a script said: when, and what of each operation; nothing of them when it came too late. */
export interface Reply {
  /** Milliseconds of the server's clock. */
  readonly time: number;
  readonly outcomes: readonly Outcome[] | undefined;
}

/**
 * The script's reply as the outcome of each operation. A reply of another shape throws: it must
 * never be read as an answer.
 */
export function decode(operations: readonly Operation[], reply: unknown): Reply {
  let count = 0;
  for (const { charges } of operations) count += charges.length;
  if (!Array.isArray(reply) || (reply.length !== 1 && reply.length !== 1 + count * FIELDS)) {
    throw new Error(`the script replied in another shape than ${count} decisions`);
  }
  const parts = reply as readonly unknown[];
  const time = numberIn(parts[0]);
  if (parts.length === 1 && count > 0) return { time, outcomes: undefined };
  const outcomes: Outcome[] = [];
  let position = 1;
  for (const { charges } of operations) {
    outcomes.push(outcomeOf(charges, parts, position));
    position += charges.length * FIELDS;
  }
  return { time, outcomes };
}

function outcomeOf(charges: readonly Charge[], parts: readonly unknown[], start: number): Outcome {
  const decisions: Decision[] = [];
  let at = start;
  for (const { policy } of charges) {
    const wait = numberIn(parts[at]);
    if (wait < -1) return new Error(`the script refused a charge of ${policy.text} as malformed`);
    decisions.push({
      policy: policy.name,
      allowed: wait === 0,
      limit: policy.limit,
      remaining: numberIn(parts[at + 1]),
      retryAfterMs: wait === -1 ? Infinity : wait,
      resetAfterMs: numberIn(parts[at + 2]),
      delayMs: numberIn(parts[at + 3]),
      source: 'redis',
    });
    at += FIELDS;
  }
  return decisions;
}

/** Integers, and text for those that a client might round. */
function numberIn(part: unknown): number {
  if (typeof part === 'number' && Number.isInteger(part)) return part;
  const number = typeof part === 'string' && part !== '' ? Number(part) : Number.NaN;
  if (Number.isInteger(number)) return number;
  throw new Error('the script replied with something else than numbers');
}
