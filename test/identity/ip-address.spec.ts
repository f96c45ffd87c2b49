import * as fc from 'fast-check';
import { isIP } from 'node:net';
import { DEFAULT_IPV6_PREFIX, canonicalIp } from '../../src/identity/ip-address.js';

describe('canonicalIp', () => {
  describe('gives one text to every spelling of an address', () => {
    it.each<[id: string, spelling: string, canonical: string]>([
      ['plain IPv4', '192.0.2.1', '192.0.2.1'],
      ['plain IPv4, extremes', '0.0.0.0', '0.0.0.0'],
      ['plain IPv4, extremes', '255.255.255.255', '255.255.255.255'],
      ['plain IPv6', '2001:db8:0:100:1:2:3:4', '2001:db8:0:100::/56'],
      // The port changes with every connection behind some gateways.
      ['SEC-07', '192.0.2.1:1', '192.0.2.1'],
      ['SEC-07', '192.0.2.1:65535', '192.0.2.1'],
      ['SEC-07', '[2001:db8:0:100::1]:443', '2001:db8:0:100::/56'],
      ['SEC-07', '[2001:db8:0:100::1]', '2001:db8:0:100::/56'],
      ['SEC-07', '[::ffff:192.0.2.1]:443', '192.0.2.1'],
      // Without brackets the last number is a group, not a port.
      ['SEC-07', '2001:db8:0:1ff::443', '2001:db8:0:100::/56'],
      // The last 8 bits of the fourth group are the subscriber's own.
      ['SEC-09', '2001:db8:0:1ff:ffff:ffff:ffff:ffff', '2001:db8:0:100::/56'],
      ['SEC-09', '2001:db8:0:200::', '2001:db8:0:200::/56'],
      ['SEC-10', '2001:DB8:0:1FF::ABCD', '2001:db8:0:100::/56'],
      ['SEC-10', '2001:0db8:0000:0100:0000:0000:0000:0001', '2001:db8:0:100::/56'],
      ['SEC-10', '2001:db8:0:100:0:0:192.0.2.1', '2001:db8:0:100::/56'],
      ['SEC-10', '2001:db8::100:0:0:192.0.2.1', '2001:db8:0:100::/56'],
      ['SEC-10', '2001:db8:0:100::192.0.2.1', '2001:db8:0:100::/56'],
      ['SEC-10', 'fe80::1%eth0', 'fe80::/56'],
      ['SEC-10', '[fe80::1%25eth0.1]:80', 'fe80::/56'],
      ['SEC-10', '::', '::/56'],
      ['SEC-10', '::1', '::/56'],
      ['SEC-10', '1::', '1::/56'],
      ['SEC-10', '1:2:3:400:5:6:7::', '1:2:3:400::/56'],
      ['SEC-10', '::2:3:400:5:6:7:8', '0:2:3:400::/56'],
      ['SEC-11', '::ffff:192.0.2.1', '192.0.2.1'],
      ['SEC-11', '::ffff:c000:201', '192.0.2.1'],
      ['SEC-11', '::FFFF:C000:0201', '192.0.2.1'],
      ['SEC-11', '0:0:0:0:0:ffff:c000:201', '192.0.2.1'],
      ['SEC-11', '0000:0000:0000:0000:0000:ffff:192.0.2.1', '192.0.2.1'],
      ['SEC-11', '0::0:ffff:192.0.2.1', '192.0.2.1'],
      ['SEC-11', '::ffff:192.0.2.1%1', '192.0.2.1'],
      ['SEC-11', '::ffff:0:0', '0.0.0.0'],
      // CVE-2026-30827: each IPv4 client of a dual-stack socket keeps its own text.
      ['SEC-12', '::ffff:127.0.0.1', '127.0.0.1'],
      ['SEC-12', '::ffff:127.0.0.2', '127.0.0.2'],
      // Only IPv4-mapped is unwrapped; what merely contains an IPv4 address is plain IPv6.
      ['SEC-13', '64:ff9b::192.0.2.1', '64:ff9b::/56'],
      ['SEC-13', '2002:c000:201:100::1', '2002:c000:201:100::/56'],
      ['SEC-13', '2001:0:c000:201::1', '2001:0:c000:200::/56'],
      ['SEC-13', '::192.0.2.1', '::/56'],
      ['SEC-13', '::ffff:0:192.0.2.1', '::/56'],
      ['SEC-13', '::1:ffff:192.0.2.1', '::/56'],
      ['SEC-13', '::fffe:192.0.2.1', '::/56'],
      ['SEC-13', '2001:db8::ffff:192.0.2.1', '2001:db8::/56'],
    ])('%s: %s is %s', (_id, spelling, canonical) => {
      expect(canonicalIp(spelling, 56)).toBe(canonical);
    });
  });

  describe('SEC-09: keeps as many bits as the prefix says', () => {
    it.each<[prefix: number, canonical: string]>([
      [32, 'fedc:ba98::/32'],
      [33, 'fedc:ba98:8000::/33'],
      [47, 'fedc:ba98:fffe::/47'],
      [48, 'fedc:ba98:ffff::/48'],
      [56, 'fedc:ba98:ffff:ff00::/56'],
      [64, 'fedc:ba98:ffff:ffff::/64'],
      [65, 'fedc:ba98:ffff:ffff:8000::/65'],
      [127, 'fedc:ba98:ffff:ffff:ffff:0:ffff:fffe/127'],
      [128, 'fedc:ba98:ffff:ffff:ffff:0:ffff:ffff'],
    ])('/%i is %s', (prefix, canonical) => {
      expect(canonicalIp('fedc:ba98:ffff:ffff:ffff:0:ffff:ffff', prefix)).toBe(canonical);
    });

    it('is 56 unless told otherwise', () => {
      expect(DEFAULT_IPV6_PREFIX).toBe(56);
      expect(canonicalIp('2001:db8::1')).toBe('2001:db8::/56');
    });

    it('counts the 256 networks of a /56 as one client at 56 and as 256 at 64', () => {
      const networks = Array.from(
        { length: 256 },
        (_, n) => `2001:db8:0:${(256 + n).toString(16)}::1`,
      );

      expect(new Set(networks.map((ip) => canonicalIp(ip, 56))).size).toBe(1);
      expect(new Set(networks.map((ip) => canonicalIp(ip, 64))).size).toBe(256);
    });
  });

  describe('prints IPv6 as RFC 5952 does', () => {
    it.each<[spelling: string, canonical: string]>([
      ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'], // the first of two equal runs
      ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'], // the longest run
      ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'], // a single zero stays
      ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
      ['0:0:0:0:0:0:0:0', '::'],
      ['1:0:0:0:0:0:0:0', '1::'],
      ['0:0:0:0:0:0:0:1', '::1'],
    ])('%s is %s', (spelling, canonical) => {
      expect(canonicalIp(spelling, 128)).toBe(canonical);
    });
  });

  describe('SEC-06, SEC-15: is undefined for what is not an address', () => {
    it.each<[idea: string, value: unknown]>([
      ['nothing', undefined],
      ['nothing', null],
      ['nothing', ''],
      ['another type', 0x7f000001],
      ['another type', ['192.0.2.1']],
      ['another type', { toString: () => '192.0.2.1' }],
      ['a word', 'unknown'],
      ['a word', '_hidden'],
      ['a host', 'localhost'],
      ['a host', 'face'],
      ['white space', ' 192.0.2.1'],
      ['white space', '192.0.2.1\n'],
      ['white space', '2001:db8::1 '],
      ['a list', '192.0.2.1, 192.0.2.2'],
      ['a range', '10.0.0.0/8'],
      ['a network of ours', '2001:db8::/56'],
      ['octal (CVE-2021-28918)', '010.1.2.3'],
      ['octal', '192.0.2.00'],
      ['hexadecimal', '0x7f.0.0.1'],
      ['short form', '127.1'],
      ['short form', '1.2.3'],
      ['one number', '2130706433'],
      ['octet over 255', '192.0.2.256'],
      ['octet over 255', '1234.0.0.1'],
      ['five octets', '1.2.3.4.5'],
      ['empty octet', '1..2.3'],
      ['empty octet', '.1.2.3'],
      ['empty octet', '1.2.3.'],
      ['sign', '-1.2.3.4'],
      ['other digits', '١.٢.٣.٤'],
      ['full-width colon', '2001：db8::1'],
      ['port', '192.0.2.1:'],
      ['port', '192.0.2.1:x'],
      ['port', '192.0.2.1:65536'],
      ['port', '192.0.2.1:000001'],
      ['port', '[2001:db8::1]443'],
      ['port', '[2001:db8::1]:'],
      ['port', '[2001:db8::1]:4 4'],
      ['brackets', '[2001:db8::1'],
      ['brackets', '2001:db8::1]'],
      ['brackets', '[[2001:db8::1]]'],
      ['brackets', '[]'],
      ['brackets are for IPv6', '[192.0.2.1]'],
      ['zone on IPv4', '192.0.2.1%eth0'],
      ['empty zone', 'fe80::1%'],
      ['zone', 'fe80::1%et h0'],
      ['only a zone', '%eth0'],
      ['nine groups', '1:2:3:4:5:6:7:8:9'],
      ['seven groups', '1:2:3:4:5:6:7'],
      ['a gap of no group', '1:2:3:4:5:6:7:8::'],
      ['a gap of no group', '1:2:3:4::5:6:7:8'],
      ['two gaps', '1::2::3'],
      ['three colons', ':::'],
      ['three colons', '1:::2'],
      ['one colon', ':'],
      ['loose colon', ':1:2:3:4:5:6:7:8'],
      ['loose colon', ':1::2'],
      ['loose colon', '1::2:'],
      ['loose colon', '1:2:3:4:5:6:7:'],
      ['five digits', '12345::'],
      ['five digits', '::00001'],
      ['not hexadecimal', '2001:db8::g'],
      ['not hexadecimal', '2001:db8::@'],
      ['dotted tail too early', '192.0.2.1::'],
      ['dotted tail too early', '::192.0.2.1:1'],
      ['dotted tail alone', '1:192.0.2.1'],
      ['dotted tail too late', '1:2:3:4:5:6:7:192.0.2.1'],
      ['malformed dotted tail', '::ffff:192.0.2.256'],
      ['malformed dotted tail', '::ffff:192.0.2.01'],
      ['malformed dotted tail', '::ffff:192.0.2'],
      ['malformed dotted tail', '::ffff:192.0.2.1.1'],
      ['malformed dotted tail', '::ffff:1c0.0.2.1'],
      ['nothing mapped', '::ffff:'],
      ['8 KB of commas', ','.repeat(8192)],
      ['64 KB', '1'.repeat(65_536)],
      ['64 KB', ':'.repeat(65_536)],
      ['64 KB', '1.'.repeat(32_768)],
      ['64 KB', `[${'0:'.repeat(32_768)}]:443`],
    ])('%s: %p', (_idea, value) => {
      expect(canonicalIp(value, 56)).toBeUndefined();
    });

    it('reads no more than 64 characters, however well they go on', () => {
      expect(canonicalIp(addressOfLength(64), 56)).toBe('fe80::/56');
      expect(canonicalIp(addressOfLength(65), 56)).toBeUndefined();
      expect(canonicalIp(addressOfLength(65_536), 56)).toBeUndefined();
    });
  });

  describe('for any address', () => {
    it('SEC-07, SEC-10: gives every spelling of an IPv6 address the same text', () => {
      fc.assert(
        fc.property(groupsOfIpv6(), spellingOfIpv6(), (groups, spell) => {
          const plain = groups.map((group) => group.toString(16)).join(':');

          expect(canonicalIp(spell(groups), 56)).toBe(canonicalIp(plain, 56));
          expect(canonicalIp(spell(groups), 128)).toBe(canonicalIp(plain, 128));
        }),
        { numRuns: 2000 },
      );
    });

    it('SEC-11: gives every spelling of an IPv4-mapped address the IPv4 text', () => {
      fc.assert(
        fc.property(fc.ipV4(), spellingOfIpv6(), portOrNot(), (ip, spell, port) => {
          const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
          const mapped = spell([0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d]);

          expect(canonicalIp(`${ip}${port}`, 56)).toBe(ip);
          expect(canonicalIp(mapped, 56)).toBe(ip);
          expect(canonicalIp(mapped, 128)).toBe(ip);
        }),
        { numRuns: 1000 },
      );
    });

    it('SEC-08, SEC-09: tells clients apart by each of the first 56 bits and by no other', () => {
      fc.assert(
        fc.property(groupsOfIpv6(), fc.nat(127), (one, bit) => {
          const other = one.map((group, at) =>
            at === bit >> 4 ? group ^ (0x8000 >> (bit & 15)) : group,
          );
          fc.pre(!isMapped(one) && !isMapped(other));

          expect(clientOf(one) === clientOf(other)).toBe(bit >= 56);
        }),
        { numRuns: 1000 },
      );
    });

    it('says the same of a network at /128 as the platform', () => {
      fc.assert(
        fc.property(groupsOfIpv6(), (groups) => {
          fc.pre(!isMapped(groups));
          const ip = groups.map(hex).join(':');

          expect(canonicalIp(ip, 128)).toBe(new URL(`http://[${ip}]/`).hostname.slice(1, -1));
        }),
      );
    });
  });

  it('SEC-06: takes a bare text for an address exactly when the platform does', () => {
    fc.assert(
      fc.property(fc.oneof(damagedAddress(), fc.string()), (text) => {
        const bare = text.replace(/^([0-9.]+):[0-9]{1,5}$/, '$1');

        expect(canonicalIp(text, 56) !== undefined).toBe(isIP(bare) !== 0);
      }),
      { numRuns: 5000 },
    );
  });
});

/** An address with a character or none put in place of one or none. */
function damagedAddress() {
  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    groupsOfIpv6().map((all) => withGap(all.map(hex), 7)),
  );
  return fc
    .tuple(address, fc.nat(40), fc.constantFrom('', ':', '::', '.', '0', '9', 'f', 'g'), fc.nat(1))
    .map(([ip, at, put, cut]) => ip.slice(0, at) + put + ip.slice(at + cut));
}

/** A zone id that makes the text as long as asked. */
function addressOfLength(length: number): string {
  return `fe80::1%${'0'.repeat(length - 8)}`;
}

/** Few distinct groups, so that zero runs and equal prefixes are common. */
function groupsOfIpv6() {
  const group = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(1, 0x100, 0x1ff, 0xffff) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
  );
  return fc.array(group, { minLength: 8, maxLength: 8 });
}

function spellingOfIpv6() {
  return fc
    .record({
      padded: fc.boolean(),
      upperCase: fc.boolean(),
      dottedTail: fc.boolean(),
      gapAt: fc.nat(7),
      zone: fc.constantFrom('', '%1', '%eth0', '%25en0.2'),
      around: fc.constantFrom('none', 'brackets', 'port'),
      port: fc.integer({ min: 0, max: 65_535 }),
    })
    .map((style) => (groups: readonly number[]) => {
      const texts = groups.map((group) => hex(group).padStart(style.padded ? 4 : 1, '0'));
      if (style.dottedTail) texts.splice(6, 2, dotted(groups[6] ?? 0, groups[7] ?? 0));
      const joined = withGap(texts, style.gapAt);
      const ip = `${style.upperCase ? joined.toUpperCase() : joined}${style.zone}`;
      if (style.around === 'none') return ip;
      return style.around === 'brackets' ? `[${ip}]` : `[${ip}]:${style.port}`;
    });
}

/** Writes the run of zeros around `gapAt`, if there is one, as "::". */
function withGap(texts: readonly string[], gapAt: number): string {
  const isZero = (index: number) => /^0+$/.test(texts[index] ?? '');
  if (!isZero(gapAt)) return texts.join(':');
  let [start, end] = [gapAt, gapAt + 1];
  while (isZero(start - 1)) start -= 1;
  while (isZero(end)) end += 1;
  return `${texts.slice(0, start).join(':')}::${texts.slice(end).join(':')}`;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function hex(group: number): string {
  return group.toString(16);
}

function clientOf(groups: readonly number[]): string | undefined {
  return canonicalIp(groups.map(hex).join(':'), 56);
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 6).join() === '0,0,0,0,0,65535';
}

function portOrNot() {
  return fc
    .option(fc.integer({ min: 0, max: 65_535 }), { nil: undefined })
    .map((port) => (port === undefined ? '' : `:${port}`));
}
