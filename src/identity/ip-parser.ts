/** Dotted text of an IPv4 address, or the eight 16-bit groups of an IPv6 address. */
export type ParsedIp = string | readonly number[];

/** The longest spelling of an address with brackets, zone id and port has about 60 characters. */
export const MAX_IP_LENGTH = 64;

const DUAL_STACK = '::ffff:';

const DOT = 46;
const ZERO = 48;
const COLON = 58;
const OPENING_BRACKET = 91;

const ZONE_ID = /^[0-9a-z._~:%-]+$/i;

/**
 * Reads one address and drops the port, brackets and zone id around it. What `net.isIP` accepts
 * is accepted; octal, hexadecimal and short forms of IPv4 are not, and neither is white space.
 * One pass over at most 64 characters.
 */
export function parseIp(text: string): ParsedIp | undefined {
  if (text.length > MAX_IP_LENGTH) return undefined;
  if (text.charCodeAt(0) === OPENING_BRACKET) return parseBracketed(text);
  const end = endOfIpv4(text, 0);
  if (end === undefined) return parseDualStack(text) ?? parseIpv6(text);
  if (end === text.length) return text;
  return isPort(text, end) ? text.slice(0, end) : undefined;
}

/**
 * `::ffff:192.0.2.1` as IPv4. A server that listens on `::` sees every IPv4 client in this
 * spelling, so it gets a short cut; all others go through their bits.
 */
function parseDualStack(text: string): string | undefined {
  const start = DUAL_STACK.length;
  if (!text.startsWith(DUAL_STACK) || endOfIpv4(text, start) !== text.length) return undefined;
  return text.slice(start);
}

function parseBracketed(text: string): ParsedIp | undefined {
  const closing = text.indexOf(']');
  if (closing === -1) return undefined;
  if (closing + 1 < text.length && !isPort(text, closing + 1)) return undefined;
  return parseIpv6(text.slice(1, closing));
}

/** Whether everything from `start` on is a colon and a port number. */
function isPort(text: string, start: number): boolean {
  const digits = text.length - start - 1;
  if (text.charCodeAt(start) !== COLON || digits < 1 || digits > 5) return false;
  let port = 0;
  for (let at = start + 1; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return false;
    port = port * 10 + digit;
  }
  return port <= 65_535;
}

/** Where the strict dotted quad that begins at `start` ends; undefined if there is none. */
function endOfIpv4(text: string, start: number): number | undefined {
  let at = start;
  for (let octet = 0; octet < 4; octet += 1) {
    if (octet > 0) {
      if (text.charCodeAt(at) !== DOT) return undefined;
      at += 1;
    }
    const first = at;
    let value = 0;
    // Four digits are one too many: enough to refuse, without walking a long run of digits.
    while (at < text.length && at < first + 4) {
      const digit = text.charCodeAt(at) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      at += 1;
    }
    const isZeroPadded = at > first + 1 && text.charCodeAt(first) === ZERO;
    if (at === first || value > 255 || isZeroPadded) return undefined;
  }
  return at;
}

function parseIpv6(text: string): readonly number[] | undefined {
  const end = text.indexOf('%');
  if (end !== -1 && !ZONE_ID.test(text.slice(end + 1))) return undefined;
  return readGroups(end === -1 ? text : text.slice(0, end));
}

/** A "::" stands for at least one group of zeros; without it all eight must be written. */
function readGroups(text: string): readonly number[] | undefined {
  const gap = text.indexOf('::');
  if (gap === -1) {
    const groups = readRun(text, 0, text.length);
    return groups?.length === 8 ? groups : undefined;
  }
  const head = readRun(text, 0, gap);
  const tail = readRun(text, gap + 2, text.length);
  if (head === undefined || tail === undefined) return undefined;
  if (head.length + tail.length > 7) return undefined;
  while (head.length + tail.length < 8) head.push(0);
  return head.concat(tail);
}

/** The groups between two places, colons between them; the last two may be written as IPv4. */
function readRun(text: string, start: number, end: number): number[] | undefined {
  const groups: number[] = [];
  let at = start;
  while (at < end) {
    const first = at;
    let group = 0;
    while (at < end && at < first + 4) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit === undefined) break;
      group = group * 16 + digit;
      at += 1;
    }
    if (at === first) return undefined;
    if (at < end && text.charCodeAt(at) === DOT) {
      // Only at the very end of the address: what stands before a "::" is hexadecimal.
      if (endOfIpv4(text, first) !== text.length) return undefined;
      return groups.concat(dottedGroups(text.slice(first)));
    }
    groups.push(group);
    if (at === end) return groups;
    if (text.charCodeAt(at) !== COLON || at + 1 === end) return undefined;
    at += 1;
  }
  return groups;
}

function hexDigit(code: number): number | undefined {
  if (code >= ZERO && code <= ZERO + 9) return code - ZERO;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : undefined;
}

function dottedGroups(dotted: string): [number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}
