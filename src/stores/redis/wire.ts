import type { Policy } from '../../policies/policy.js';
import type { Decision, Operation } from '../rate-limit.store.js';

/** Numbers in the script's reply for each charge. */
const FIELDS = 5;

/** KEYS and ARGV of `lua/decide.lua`: each key and each policy once, then the operations. */
export function encode(operations: readonly Operation[]): { keys: string[]; args: string[] } {
  const keys = new Map<string, number>();
  const policies = new Map<Policy, number>();
  const args: string[] = [];
  for (const { verb, charges } of operations) {
    args.push(verb, String(charges.length));
    for (const { key, policy, cost, isShadow } of charges) {
      const place = [indexOf(keys, key), indexOf(policies, policy), cost, isShadow ? 0 : 1];
      args.push(...place.map(String));
    }
  }
  const numbers = [...policies.keys()].flatMap(policyArgs);
  const counted = [String(policies.size), ...numbers, String(operations.length), ...args];
  return { keys: [...keys.keys()], args: counted };
}

/** Counted from 1, as Lua does. */
function indexOf<T>(indexes: Map<T, number>, value: T): number {
  const known = indexes.get(value);
  if (known !== undefined) return known;
  indexes.set(value, indexes.size + 1);
  return indexes.size;
}

function policyArgs(policy: Policy): string[] {
  const { limit, windowMs, burst, maxDelayMs, rate, unit } = policy;
  return [policy.algorithm, ...[limit, windowMs, burst, maxDelayMs, rate, unit].map(String)];
}

/**
 * The script's reply as decisions, a list for each operation. A reply of another shape throws: it
 * must never be read as an answer.
 */
export function decode(operations: readonly Operation[], reply: unknown): Decision[][] {
  const count = operations.reduce((sum, { charges }) => sum + charges.length, 0);
  if (!Array.isArray(reply) || reply.length !== 1 + count * FIELDS) {
    throw new Error(`the script replied in another shape than ${count} decisions`);
  }
  let position = 1;
  const next = (): number => numberIn(reply[position++]);
  return operations.map(({ charges }) =>
    charges.map(({ policy }) => {
      const status = next();
      const remaining = next();
      const retryAfterMs = next();
      const resetAfterMs = next();
      const delayMs = next();
      if (status !== 0 && status !== 1) {
        throw new Error(`the script refused a charge of ${policy.text} as malformed`);
      }
      return {
        policy: policy.name,
        allowed: status === 1,
        limit: policy.limit,
        remaining,
        retryAfterMs: retryAfterMs === -1 ? Infinity : retryAfterMs,
        resetAfterMs,
        delayMs,
        source: 'redis',
      };
    }),
  );
}

/** Integers, and text for those that a client might round. */
function numberIn(part: unknown): number {
  const number = typeof part === 'string' && part !== '' ? Number(part) : part;
  if (typeof number === 'number' && Number.isInteger(number)) return number;
  throw new Error('the script replied with something else than numbers');
}
