import { inspect } from 'node:util';

/**
 * What was configured cannot work. Thrown at boot, or by the call that passed a policy object.
 * Names the option, what was received and what is expected. Tell it by `code`, which also holds
 * between two copies of this package.
 */
export class RateLimitConfigurationError extends Error {
  override readonly name = 'RateLimitConfigurationError';
  readonly code = 'RATE_LIMIT_CONFIGURATION';

  constructor(
    /** Where the value stands, such as `tiers[0].limit`. */
    readonly option: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`RateLimit: ${option}: ${problem}`, options);
  }
}

/** `received 'x', expected y`, with what was received cut to a line. */
export function mismatch(received: unknown, expected: string): string {
  return `received ${printed(received)}, expected ${expected}`;
}

/** A value on one line, without the contents of objects: options may hold secrets. */
export function printed(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return inspect(value, { maxStringLength: 64 });
}
