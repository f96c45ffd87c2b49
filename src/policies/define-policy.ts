import { MAX, floorDiv } from '../algorithms/algorithm.js';
import { algorithmNames, algorithms } from '../algorithms/registry.js';
import { checkDuration, checkObject, checkOneOf, checkWhole } from './checks.js';
import { RateLimitConfigurationError, mismatch } from './configuration-error.js';
import { formatDuration } from './duration.js';
import { parsePolicyText } from './policy-text.js';
import type { Policy, PolicyOptions, PolicyText } from './policy.js';

/** Ten years: keeps every product of a bucket's arithmetic within 2^53. */
export const MAX_WINDOW_MS = 3650 * 86_400_000;

const DEFAULT_MAX_DELAY_MS = 5_000;
const KNOWN = ['algorithm', 'limit', 'window', 'burst', 'maxDelay'] as const;

/**
 * A policy that is checked and complete, from an object or its text form. `option` names the place
 * in errors; by default the policy. Throws a RateLimitConfigurationError for anything that cannot be counted exactly.
 */
export function definePolicy(
  name: string,
  written: PolicyOptions | PolicyText,
  option = `policy '${name}'`,
): Policy {
  const options =
    typeof written === 'string'
      ? parsePolicyText(written, option)
      : checkObject(written, option, KNOWN);

  const algorithm = checkOneOf(options['algorithm'], `${option}.algorithm`, algorithmNames);
  const law = algorithms[algorithm];
  const limit = checkWhole(options['limit'], `${option}.limit`, 0, MAX);
  const windowMs = checkDuration(options['window'], `${option}.window`, MAX_WINDOW_MS);
  for (const parameter of ['burst', 'maxDelay'] as const) {
    if (options[parameter] !== undefined && !isTaken(law.parameters, parameter)) {
      throw new RateLimitConfigurationError(
        `${option}.${parameter}`,
        `'${algorithm}' has no such parameter; it takes ${['limit', 'window', ...law.parameters].join(', ')}`,
      );
    }
  }

  const burst = checkBurst(options['burst'] ?? law.defaultBurst(limit), `${option}.burst`, limit);
  const maxDelayMs = checkMaxDelay(options['maxDelay'], `${option}.maxDelay`);
  const divisor = greatestCommonDivisor(limit, windowMs);
  const numbers = {
    limit,
    windowMs,
    burst,
    maxDelayMs,
    rate: limit / divisor,
    unit: windowMs / divisor,
  };
  const problem = law.problem(numbers);
  if (problem !== undefined) {
    const received = `${algorithm}:${limit}/${formatDuration(windowMs)}, burst ${burst}`;
    throw new RateLimitConfigurationError(option, `received ${received}: ${problem}`);
  }

  const parameters = [
    burst === law.defaultBurst(limit) ? '' : `,burst=${burst}`,
    maxDelayMs === DEFAULT_MAX_DELAY_MS ? '' : `,maxDelay=${formatMaxDelay(maxDelayMs)}`,
  ];
  const text = `${algorithm}:${limit}/${formatDuration(windowMs)}${parameters.join('')}`;
  return { name, algorithm, law, text, ...numbers };
}

function isTaken(parameters: readonly string[], parameter: string): boolean {
  return parameters.includes(parameter);
}

function checkBurst(value: unknown, option: string, limit: number): number {
  if (limit === 0 && value !== 0) {
    throw new RateLimitConfigurationError(option, mismatch(value, '0 or nothing when limit is 0'));
  }
  return checkWhole(value, option, limit === 0 ? 0 : 1, MAX);
}

/** Unlike other durations it may be 0: nobody is held, and a queue of more than one refuses. */
function checkMaxDelay(value: unknown, option: string): number {
  if (value === undefined) return DEFAULT_MAX_DELAY_MS;
  return value === 0 ? 0 : checkDuration(value, option, MAX_WINDOW_MS);
}

function formatMaxDelay(ms: number): string {
  return ms === 0 ? '0' : formatDuration(ms);
}

function greatestCommonDivisor(a: number, b: number): number {
  return a === 0 ? b : greatestCommonDivisor(b % a, a);
}

/** The policy with `limit / instances`, at least 1 unless it is 0: one instance's share of it. */
export function shareOf(policy: Policy, instances: number): Policy {
  if (instances === 1) return policy;
  const limit = share(policy.limit, instances);
  // A share in less convenient terms has more units to a token, of which fewer tokens fit.
  const most = floorDiv(MAX, policy.windowMs / greatestCommonDivisor(limit, policy.windowMs));
  const burst = Math.min(share(policy.burst, instances), most);
  const takesBurst = isTaken(policy.law.parameters, 'burst');
  return definePolicy(
    policy.name,
    {
      algorithm: policy.algorithm,
      limit,
      window: policy.windowMs,
      ...(takesBurst && { burst }),
      ...(isTaken(policy.law.parameters, 'maxDelay') && { maxDelay: policy.maxDelayMs }),
    },
    policy.name,
  );
}

const share = (amount: number, instances: number): number =>
  amount === 0 ? 0 : Math.max(1, floorDiv(amount, instances));
