import type { Policy } from '../../policies/policy.js';
import type { Decision, Operation } from '../rate-limit.store.js';
import type { Outcome } from './batches.js';

/** Numbers in the script's reply for each charge. */
const FIELDS = 5;

/** A policy's arguments, made once: routes and plans keep their policies. */
const policyArgs = new WeakMap<Policy, readonly string[]>();

/** KEYS and ARGV of `lua/decide.lua`: each key and each policy once, then the operations. */
export function encode(operations: readonly Operation[]): { keys: string[]; args: string[] } {
  const keys = new Places<string>();
  const policies = new Places<Policy>();
  const asked: string[] = [];
  for (const { verb, charges } of operations) {
    asked.push(verb, String(charges.length));
    for (const { key, policy, cost, isShadow } of charges) {
      asked.push(keys.of(key), policies.of(policy), String(cost), isShadow === true ? '0' : '1');
    }
  }
  const args = [String(policies.all.length)];
  for (const policy of policies.all) args.push(...argsOf(policy));
  args.push(String(operations.length), ...asked);
  return { keys: keys.all, args };
}

/** Different values in the order they came, and their places, counted from 1 as Lua does. */
class Places<T> {
  readonly all: T[] = [];
  private readonly places = new Map<T, string>();

  of(value: T): string {
    let place = this.places.get(value);
    if (place === undefined) {
      place = String(this.all.push(value));
      this.places.set(value, place);
    }
    return place;
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

/**
 * The script's reply as the outcome of each operation. A reply of another shape throws: it must
 * never be read as an answer.
 */
export function decode(operations: readonly Operation[], reply: unknown): Outcome[] {
  let count = 0;
  for (const { charges } of operations) count += charges.length;
  if (!Array.isArray(reply) || reply.length !== 1 + count * FIELDS) {
    throw new Error(`the script replied in another shape than ${count} decisions`);
  }
  let position = 1;
  return operations.map(({ charges }) => {
    const start = position;
    position += charges.length * FIELDS;
    return outcomeOf(charges, reply, start);
  });
}

function outcomeOf(
  charges: Operation['charges'],
  reply: readonly unknown[],
  start: number,
): Outcome {
  const decisions: Decision[] = [];
  for (const [index, { policy }] of charges.entries()) {
    const at = start + index * FIELDS;
    const status = numberIn(reply[at]);
    if (status !== 0 && status !== 1) {
      return new Error(`the script refused a charge of ${policy.text} as malformed`);
    }
    const retryAfterMs = numberIn(reply[at + 2]);
    decisions.push({
      policy: policy.name,
      allowed: status === 1,
      limit: policy.limit,
      remaining: numberIn(reply[at + 1]),
      retryAfterMs: retryAfterMs === -1 ? Infinity : retryAfterMs,
      resetAfterMs: numberIn(reply[at + 3]),
      delayMs: numberIn(reply[at + 4]),
      source: 'redis',
    });
  }
  return decisions;
}

/** Integers, and text for those that a client might round. */
function numberIn(part: unknown): number {
  const number = typeof part === 'string' && part !== '' ? Number(part) : part;
  if (typeof number === 'number' && Number.isInteger(number)) return number;
  throw new Error('the script replied with something else than numbers');
}
