import { ipRanges } from '../../src/identity/ip-ranges.js';

describe('ipRanges', () => {
  it.each<[list: string[], ip: string, isMember: boolean]>([
    // a single address
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.2', false],
    [['2001:db8::1'], '2001:DB8:0::1', true],
    [['2001:db8::1'], '2001:db8::2', false],
    // a range, to its last address
    [['10.0.0.0/8'], '10.255.255.255', true],
    [['10.0.0.0/8'], '11.0.0.0', false],
    [['2001:db8::/33'], '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff', true],
    [['2001:db8::/33'], '2001:db8:8000::', false],
    // host bits in a rule do not count
    [['10.1.2.3/8'], '10.9.9.9', true],
    // the whole of a family, and only of that family
    [['0.0.0.0/0'], '203.0.113.1', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['::/0'], '2001:db8::1', true],
    [['::/0'], '203.0.113.1', false],
    [['::/0'], '::ffff:203.0.113.1', false],
    // IPv4-mapped is IPv4, on either side
    [['10.0.0.0/8'], '::ffff:10.1.2.3', true],
    [['10.0.0.0/8'], '::ffff:a01:203', true],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['::ffff:10.0.0.0/104'], '11.1.2.3', false],
    [['::ffff:192.0.2.1'], '192.0.2.1', true],
    // whatever a platform puts around an address
    [['10.0.0.0/8'], '10.1.2.3:50123', true],
    [['fe80::/10'], '[fe80::1%eth0]:443', true],
    // any entry is enough, none is not
    [['192.0.2.1', '10.0.0.0/8', '::1'], '::1', true],
    [[], '192.0.2.1', false],
    // not an address
    [['0.0.0.0/0', '::/0'], '', false],
    [['0.0.0.0/0', '::/0'], 'unknown', false],
    [['0.0.0.0/0', '::/0'], '1'.repeat(65_536), false],
  ])('%j: %s is a member: %p', (list, ip, isMember) => {
    expect(ipRanges(list)(ip)).toBe(isMember);
  });

  it.each<[entry: unknown]>([
    ['localhost'],
    [''],
    ['10.0.0.0/33'],
    ['10.0.0.0/'],
    ['10.0.0.0/-1'],
    ['10.0.0.0/08'],
    ['10.0.0.0/8.0'],
    ['10.0.0.0/0x8'],
    ['10.0.0.0/ 8'],
    ['10.0.0.0/255.0.0.0'],
    ['10.0.0.0/8/8'],
    ['10.0.0/8'],
    ['010.0.0.0/8'],
    ['10.0.0.1:80'],
    ['2001:db8::/129'],
    ['2001:db8::1::/32'],
    ['::ffff:10.0.0.0/95'], // more than IPv4, less than the prefix it is written with
    ['[::1]'],
    ['fe80::1%eth0'],
    ['*'],
    [' 10.0.0.0/8'],
    [undefined],
    [42],
  ])('refuses the entry %p and names it', (entry) => {
    const build = () => ipRanges(['192.0.2.1', entry as string]);

    expect(build).toThrow(RangeError);
    expect(build).toThrow(
      `received ${typeof entry === 'string' ? `'${entry}'` : String(entry)}, expected an IP address or a CIDR range`,
    );
  });

  it('keeps a hostile entry short and printable in the message', () => {
    const entry = `\u001b[31m\n${'x'.repeat(65_536)}`;

    expect(() => ipRanges([entry])).toThrow(/^received '[\x20-\x7e]{1,300}$/);
  });
});
