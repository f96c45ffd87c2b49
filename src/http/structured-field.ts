const MAX_LENGTH = 64;
const MAX_INTEGER = 999_999_999_999_999;

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]/g;
const QUOTE_OR_BACKSLASH = /["\\]/g;

/** Whether a header can carry `name`: 1 to 64 characters of printable ASCII. */
export function isStructuredFieldString(name: unknown): name is string {
  return typeof name === 'string' && name.length <= MAX_LENGTH && PRINTABLE_ASCII.test(name);
}

/**
 * An RFC 9651 string with its quotes. A character that no header can carry becomes "?": names are
 * checked at boot, and one that slipped through must not fail every response.
 */
export function structuredFieldString(text: string): string {
  const printable = text.replace(NOT_PRINTABLE_ASCII, '?');
  return `"${printable.replace(QUOTE_OR_BACKSLASH, String.raw`\$&`)}"`;
}

/** An RFC 9651 integer that is not negative: those have at most 15 digits. */
export function structuredFieldInteger(value: number): string {
  return String(Math.min(Math.max(Math.ceil(value), 0), MAX_INTEGER));
}
