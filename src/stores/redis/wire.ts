import type { Policy } from '../../policies/policy.js';
import type { Charge, Decision } from '../rate-limit.store.js';
import type { Plan } from './plan.js';
import type { Shape } from './shape.js';

/** What became of one operation of a batch. */
export type Outcome = readonly Decision[] | Error;

/**
 * KEYS and ARGV of `lua/decide.lua`. What operations have in common, which is all but their keys, is
 * said once. `deadline` is in the server's milliseconds; undefined is none.
 */
export function encode(
  plans: readonly Plan[],
  deadline?: number,
): { keys: string[]; args: string[] } {
  const keys: string[] = [];
  const shapes: Shape[] = [];
  const runs: number[] = [];
  let last: Shape | undefined;
  for (const plan of plans) {
    for (const key of plan.keys) keys.push(key);
    const { shape } = plan;
    if (shape === last) {
      runs[runs.length - 1]!++;
      continue;
    }
    last = shape;
    let place = shapes.indexOf(shape);
    if (place === -1) place = shapes.push(shape) - 1;
    runs.push(place + 1, 1);
  }
  const args = [deadline === undefined ? '' : String(deadline), String(shapes.length)];
  for (const shape of shapes) args.push(...shape.args);
  args.push(String(runs.length / 2));
  for (const part of runs) args.push(String(part));
  return { keys, args };
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
export function decode(plans: readonly Plan[], reply: unknown): Reply {
  if (!Array.isArray(reply)) throw new Error('the script replied with no list');
  const parts = new Parts(reply);
  const time = parts.next();
  if (reply.length === 1 && plans.some(({ charges }) => charges.length > 0)) {
    return { time, outcomes: undefined };
  }
  const outcomes = plans.map(({ charges }) => outcomeOf(charges, parts));
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
