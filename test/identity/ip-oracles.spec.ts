import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { BlockList } from 'node:net';
import { canonicalIp } from '../../src/identity/ip-address.js';

const RUNS = 3_000;

// Two readings of addresses that owe ours nothing: ipaddr.js, and the platform's own.
describe('canonicalIp, held against other libraries', () => {
  it('SEC-08, SEC-09, SEC-10: makes one client of two addresses exactly when one network has both', () => {
    fc.assert(
      fc.property(pairOfIpv6(), fc.integer({ min: 32, max: 128 }), ([one, other], prefix) => {
        const isOne = canonicalIp(one, prefix) === canonicalIp(other, prefix);
        const network = new BlockList();
        network.addSubnet(one, prefix, 'ipv6');

        expect(isOne).toBe(network.check(other, 'ipv6'));
        expect(isOne).toBe(ipaddr.IPv6.parse(other).match(ipaddr.IPv6.parse(one), prefix));
      }),
      { numRuns: RUNS },
    );
  });

  it('SEC-10: names the network that ipaddr.js names', () => {
    fc.assert(
      fc.property(ipv6(), fc.integer({ min: 32, max: 127 }), (ip, prefix) => {
        const first = ipaddr.IPv6.networkAddressFromCIDR(`${ip}/${prefix}`);
        const [network = '', bits] = canonicalIp(ip, prefix)!.split('/');

        expect(ipaddr.IPv6.parse(network).toByteArray()).toEqual(first.toByteArray());
        expect(bits).toBe(String(prefix));
      }),
      { numRuns: RUNS },
    );
  });

  it('SEC-11: unwraps what ipaddr.js knows for IPv4-mapped, and nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(ipv6(), ipv6With([0, 0, 0, 0, 0, 0xffff])), (ip) => {
        const read = ipaddr.IPv6.parse(ip);
        const found = canonicalIp(ip, 56)!;

        expect(found.includes(':') ? undefined : found).toBe(
          read.isIPv4MappedAddress() ? read.toIPv4Address().toString() : undefined,
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('SEC-13: with nat64, unwraps what ipaddr.js finds under its prefix as well, and only then', () => {
    const wellKnown = ipaddr.IPv6.parse('64:ff9b::');
    const near = fc.oneof(
      ipv6(),
      ipv6With([0x64, 0xff9b, 0, 0, 0, 0]),
      ipv6With([0x64, 0xff9b]),
      ipv6With([0x64, 0xff9b, 1]),
    );

    fc.assert(
      fc.property(near, (ip) => {
        const read = ipaddr.IPv6.parse(ip);
        fc.pre(!read.isIPv4MappedAddress());
        const canonical = canonicalIp(ip, 56, { nat64: true });
        const embedded = new ipaddr.IPv4(read.toByteArray().slice(12)).toString();

        expect(canonical === embedded).toBe(read.match(wellKnown, 96));
        expect(canonicalIp(ip, 56)).toContain('::/56');
      }),
      { numRuns: RUNS },
    );
  });

  it('SEC-06: reads no IPv4 that ipaddr.js reads otherwise', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789.x'.split('')), maxLength: 16 });

    fc.assert(
      fc.property(
        fc.oneof({ weight: 3, arbitrary: fc.ipV4() }, fc.ipV4Extended(), digits),
        (text) => {
          const canonical = canonicalIp(text, 56);
          fc.pre(canonical !== undefined);

          expect(ipaddr.IPv4.parse(text).toByteArray().join('.')).toBe(canonical);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

/** Zero runs and equal beginnings are common. */
function groups(count: number) {
  const group = fc.oneof(fc.constant(0), fc.nat(0xffff), fc.constantFrom(1, 0x80, 0xff00, 0xffff));
  return fc.array(group, { minLength: count, maxLength: count });
}

function ipv6With(first: readonly number[]) {
  return groups(8 - first.length).map((rest) => textOf([...first, ...rest]));
}

function ipv6() {
  return fc.oneof(ipv6With([]), fc.ipV6()).filter(isPlain);
}

/** Some address, and the one that differs from it in one bit. */
function pairOfIpv6() {
  return fc
    .tuple(groups(8), fc.nat(127))
    .map(([one, bit]): [string, string] => [
      textOf(one),
      textOf(one.map((group, at) => (at === bit >> 4 ? group ^ (0x8000 >> (bit & 15)) : group))),
    ])
    .filter((pair) => pair.every(isPlain));
}

function isPlain(ip: string): boolean {
  return !ipaddr.IPv6.parse(ip).isIPv4MappedAddress();
}

function textOf(all: readonly number[]): string {
  return all.map((group) => group.toString(16)).join(':');
}
