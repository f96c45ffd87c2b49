import { BlockList, isIP } from 'node:net';
import { inspect } from 'node:util';
import { canonicalIp } from './ip-address.js';

/**
 * A test for membership in a list of single addresses and CIDR ranges of both families. It takes
 * an address in any spelling (not a masked network) and is false for what is not an address.
 * An IPv4 client is matched by IPv4 and IPv4-mapped rules only, whatever socket it came through.
 * An entry that is neither an address nor a range throws a RangeError.
 *
 * @example
 * const isInternal = ipRanges(['10.0.0.0/8', '2001:db8::/32', '::1']);
 * isInternal('::ffff:10.1.2.3') // true
 */
export function ipRanges(list: readonly string[]): (ip: string) => boolean {
  // One list per family: in a shared one "::/0" would match IPv4 clients too.
  const rules = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of list) {
    const { address, prefix } = parseRange(entry);
    const family = familyOf(address);
    rules[family].addSubnet(address, prefix, family);
  }
  if (list.length === 0) return () => false;
  return (ip) => {
    const address = canonicalIp(ip, 128);
    if (address === undefined) return false;
    const family = familyOf(address);
    return rules[family].check(address, family);
  };
}

function parseRange(entry: string): { address: string; prefix: number } {
  const [written = '', bits, ...rest] = typeof entry === 'string' ? entry.split('/', 3) : [];
  const address =
    isIP(written) === 0 || written.includes('%') ? undefined : canonicalIp(written, 128);
  if (address === undefined || rest.length > 0) throw notARange(entry);
  const width = written.includes(':') ? 128 : 32;
  // "::ffff:10.0.0.0/104" is 10.0.0.0/8: the 96 bits before the IPv4 address are not counted.
  const offset = width === 128 && !address.includes(':') ? 96 : 0;
  const prefix = bits === undefined ? width : Number(bits);
  const isWritten = bits === undefined || String(prefix) === bits;
  if (!isWritten || !Number.isInteger(prefix) || prefix < offset || prefix > width) {
    throw notARange(entry);
  }
  return { address, prefix: prefix - offset };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

function notARange(entry: unknown): RangeError {
  return new RangeError(
    `received ${inspect(entry, { depth: 0, maxStringLength: 64 })}, expected an IP address or a ` +
      `CIDR range such as '192.0.2.1', '10.0.0.0/8', '::1' or '2001:db8::/32'`,
  );
}
