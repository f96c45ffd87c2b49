import { RateLimitConfigurationError, mismatch, printed } from './configuration-error.js';
import { parseDuration, type Duration } from './duration.js';
import { didYouMean } from './nearest.js';

/** A plain options object; its unknown properties are refused with the nearest known name. */
export function checkObject(
  value: unknown,
  option: string,
  known: readonly string[],
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RateLimitConfigurationError(option, mismatch(value, 'an object'));
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new RateLimitConfigurationError(
        option,
        `unknown option ${printed(key)}${didYouMean(key, known) || `, expected one of ${known.join(', ')}`}`,
      );
    }
  }
  return value as Record<string, unknown>;
}

export function checkOneOf<T extends string>(
  value: unknown,
  option: string,
  known: readonly T[],
): T {
  if (typeof value === 'string' && (known as readonly string[]).includes(value)) return value as T;
  const hint = typeof value === 'string' ? didYouMean(value, known) : '';
  const expected = `one of ${known.map((name) => `'${name}'`).join(', ')}`;
  throw new RateLimitConfigurationError(option, `${mismatch(value, expected)}${hint}`);
}

export function checkWhole(value: unknown, option: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
    // -0 is whole too, and must not be told from 0 later.
    return (value as number) + 0;
  }
  throw new RateLimitConfigurationError(
    option,
    mismatch(value, `a whole number from ${min} to ${max}`),
  );
}

export function checkBoolean(value: unknown, option: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new RateLimitConfigurationError(option, mismatch(value, 'true or false'));
}

export function checkDuration(value: unknown, option: string, max: number): number {
  let ms: number;
  try {
    ms = parseDuration(value as Duration);
  } catch (error) {
    throw new RateLimitConfigurationError(option, (error as Error).message);
  }
  if (ms > max) {
    throw new RateLimitConfigurationError(option, mismatch(value, `at most ${max} ms`));
  }
  return ms;
}

/** An optional function. */
export function checkFunction<T>(value: T, option: string): T {
  if (value === undefined || typeof value === 'function') return value;
  throw new RateLimitConfigurationError(option, mismatch(value, 'a function'));
}
