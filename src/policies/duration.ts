import { printed } from './configuration-error.js';

/** A duration as text: a whole number and a unit, no sign, fraction or space. */
export type DurationText =
  `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

/** A duration as configuration takes it: whole milliseconds, or text such as `'500ms'`, `'1m'`. */
export type Duration = number | DurationText;

/** Milliseconds in each unit, longest first. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

// Sixteen digits hold every number up to 2^53, so that hostile text ends here.
const TEXT = /^([1-9][0-9]{0,15})(ms|s|m|h|d)$/;

/**
 * A duration in milliseconds, above 0 and below 2^53. A number is milliseconds already.
 * Anything else than whole milliseconds or text like `'500ms' '10s' '1m' '2h' '30d'` throws a
 * RangeError that says what was received; the caller prefixes the name of the option.
 */
export function parseDuration(value: number | string): number {
  const ms = typeof value === 'string' ? parseText(value) : value;
  if (Number.isSafeInteger(ms) && ms > 0) return ms;
  throw new RangeError(
    `received ${printed(value)}, expected a duration: whole ` +
      `milliseconds from 1 to 2^53 - 1, or text such as '500ms', '10s', '1m', '2h' or '30d'`,
  );
}

function parseText(text: string): number {
  const [, digits, written] = TEXT.exec(text) ?? [];
  const unit = UNITS.find(([name]) => name === written);
  return unit === undefined ? Number.NaN : Number(digits) * unit[1];
}

/**
 * The shortest text that `parseDuration` reads back as the same whole milliseconds, above 0.
 *
 * @example
 * formatDuration(60_000) // '1m'
 * formatDuration(90_000) // '90s'
 */
export function formatDuration(ms: number): DurationText {
  // The longest unit that divides leaves the fewest digits.
  for (const [name, size] of UNITS) {
    if (ms >= size && ms % size === 0) return `${ms / size}${name}`;
  }
  return `${ms}ms`;
}
