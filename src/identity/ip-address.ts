import { parseIp } from './ip-parser.js';

/** Bits of an IPv6 address that tell one client from another, unless an option says otherwise. */
export const DEFAULT_IPV6_PREFIX = 56;

/**
 * One text per client address, however the platform spells it: without port, brackets and zone id,
 * IPv4-mapped IPv6 (`::ffff:0:0/96`, decided by the bits) as IPv4, other IPv6 cut to `ipv6Prefix`
 * bits (32 to 128, default 56), because a single subscriber owns a whole such network.
 * Undefined for what is not an address. 6to4 and Teredo addresses are plain IPv6, and so are those
 * of NAT64 (`64:ff9b::/96`, RFC 6052) unless `nat64` says that they are the IPv4 address in them.
 *
 * @example
 * canonicalIp('192.0.2.1:50123', 56)            // '192.0.2.1'
 * canonicalIp('::FFFF:c000:201', 56)            // '192.0.2.1'
 * canonicalIp('[2001:db8:0:1ff::7%eth0]:443', 56) // '2001:db8:0:100::/56'
 * canonicalIp('2001:DB8::0:1', 128)             // '2001:db8::1'
 */
export function canonicalIp(
  value: unknown,
  ipv6Prefix: number = DEFAULT_IPV6_PREFIX,
  { nat64 = false }: { nat64?: boolean } = {},
): string | undefined {
  if (typeof value !== 'string') return undefined;
  const address = parseIp(value);
  if (address === undefined || typeof address === 'string') return address;
  if (isIpv4Mapped(address) || (nat64 && isNat64(address))) return embeddedIpv4(address);
  if (ipv6Prefix === 128) return ipv6Text(address);
  return `${ipv6Text(network(address, ipv6Prefix))}/${ipv6Prefix}`;
}

function isIpv4Mapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.findIndex((group) => group !== 0) === 5;
}

function isNat64(groups: readonly number[]): boolean {
  const isZero = groups[2] === 0 && groups[3] === 0 && groups[4] === 0 && groups[5] === 0;
  return groups[0] === 0x64 && groups[1] === 0xff9b && isZero;
}

function embeddedIpv4(groups: readonly number[]): string {
  const high = groups[6] ?? 0;
  const low = groups[7] ?? 0;
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

function network(groups: readonly number[], prefix: number): readonly number[] {
  return groups.map((group, index) => {
    const hostBits = Math.min(16, Math.max(0, 16 * (index + 1) - prefix));
    return group & (0xffff << hostBits);
  });
}

/** RFC 5952: lower case, no leading zeros, the first longest run of two or more zeros as "::". */
function ipv6Text(groups: readonly number[]): string {
  const run = longestZeroRun(groups);
  if (run.length < 2) return hexText(groups, 0, 8);
  return `${hexText(groups, 0, run.start)}::${hexText(groups, run.start + run.length, 8)}`;
}

function hexText(groups: readonly number[], start: number, end: number): string {
  let text = '';
  for (let index = start; index < end; index += 1) {
    if (index > start) text += ':';
    text += groups[index]?.toString(16);
  }
  return text;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (let index = 0; index < 8; index += 1) {
    if (groups[index] !== 0) start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
