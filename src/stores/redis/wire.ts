import type { Policy } from '../../policies/policy.js';
import type { Charge, Decision, Operation } from '../rate-limit.store.js';

/** What became of one operation of a batch. */
export type Outcome = readonly Decision[] | Error;

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
    addKeys(keys, operation);
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

/** The key of each charge, once where it is that of the charge before. */
function addKeys(keys: string[], { charges }: Operation): void {
  let last: string | undefined;
  for (const charge of charges) {
    const key = valueKeyOf(charge);
    if (key !== last) keys.push(key);
    last = key;
  }
}

/** The key of the value that a charge is counted in. */
export function valueKeyOf({ key, shared }: Charge): string {
  return shared === undefined ? key : shared.key;
}

function isJoined(charges: readonly Charge[], index: number): boolean {
  return index > 0 && valueKeyOf(charges[index]!) === valueKeyOf(charges[index - 1]!);
}

function hasShapeOf({ verb, charges }: Operation, other: Operation): boolean {
  if (verb !== other.verb || charges.length !== other.charges.length) return false;
  for (let index = 0; index < charges.length; index++) {
    const { policy, cost, shared, isShadow = false } = charges[index]!;
    const charge = other.charges[index]!;
    if (policy !== charge.policy || cost !== charge.cost) return false;
    if (isShadow !== (charge.isShadow ?? false) || shared?.field !== charge.shared?.field) {
      return false;
    }
    if (isJoined(charges, index) !== isJoined(other.charges, index)) return false;
  }
  return true;
}

function addShape(args: string[], { verb, charges }: Operation): void {
  args.push(verb, String(charges.length));
  for (let index = 0; index < charges.length; index++) {
    const { policy, cost, shared, isShadow } = charges[index]!;
    const marks = (isShadow === true ? 0 : 1) + (isJoined(charges, index) ? 2 : 0);
    args.push(...argsOf(policy), String(cost), String(marks), String(shared?.field ?? 0));
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
  if (!Array.isArray(reply)) throw new Error('the script replied with no list');
  const parts = new Parts(reply);
  const time = parts.next();
  if (reply.length === 1 && operations.some(({ charges }) => charges.length > 0)) {
    return { time, outcomes: undefined };
  }
  const outcomes = operations.map(({ charges }) => outcomeOf(charges, parts));
  if (!parts.areOver) throw new Error('the script replied with more than was asked');
  return { time, outcomes };
}

function outcomeOf(charges: readonly Charge[], parts: Parts): Outcome {
  const decisions: Decision[] = [];
  let malformed: Policy | undefined;
  for (const { policy } of charges) {
    const decision = decisionOf(policy, parts);
    if (decision === undefined) malformed ??= policy;
    else decisions.push(decision);
  }
  if (malformed === undefined) return decisions;
  return new Error(`the script refused a charge of ${malformed.text} as malformed`);
}

/** Undefined when the script took it for no charge. */
function decisionOf(policy: Policy, parts: Parts): Decision | undefined {
  const first = parts.next(-2);
  if (first === -2) return undefined;
  const passes = first >= 0;
  const wait = passes ? 0 : parts.next(-1);
  const delayMs = passes ? 0 : parts.next();
  const remaining = passes ? first : parts.next();
  return {
    policy: policy.name,
    allowed: wait === 0,
    limit: policy.limit,
    remaining,
    retryAfterMs: wait === -1 ? Infinity : wait,
    resetAfterMs: parts.next(),
    delayMs,
    source: 'redis',
  };
}

/** The numbers of a reply, one after the other. */
class Parts {
  private at = 0;

  constructor(private readonly parts: readonly unknown[]) {}

  get areOver(): boolean {
    return this.at === this.parts.length;
  }

  next(least = 0): number {
    if (this.areOver) throw new Error('the script replied with less than was asked');
    const number = numberIn(this.parts[this.at++]);
    if (number >= least) return number;
    throw new Error('the script replied with a number that is too small');
  }
}

/** Integers, and text for those that a client might round. */
function numberIn(part: unknown): number {
  if (typeof part === 'number' && Number.isInteger(part)) return part;
  const number = typeof part === 'string' && part !== '' ? Number(part) : Number.NaN;
  if (Number.isInteger(number)) return number;
  throw new Error('the script replied with something else than numbers');
}
