import { Addresses } from '../../src/identity/addresses.js';

describe('Addresses', () => {
  it('makes a client of an address, the same one for the same spelling', () => {
    const addresses = new Addresses();

    const client = addresses.clientAt('[2001:DB8::7]:443');

    expect(client).toEqual({ kind: 'ip', id: '2001:db8::/56' });
    expect(addresses.clientAt('[2001:DB8::7]:443')).toBe(client);
    expect(addresses.clientAt('2001:db8::8')).toEqual(client);
  });

  it('gives requests a client that none of them can change', () => {
    expect(Object.isFrozen(new Addresses().clientAt('192.0.2.1'))).toBe(true);
  });

  it.each([
    ['none', {}, '2001:db8:0:1ff::1', '2001:db8:0:100::/56'],
    ['a prefix', { ipv6Prefix: 64 }, '2001:db8:0:1ff::1', '2001:db8:0:1ff::/64'],
    ['null for the prefix', { ipv6Prefix: null as never }, '2001:db8::1', '2001:db8::/56'],
    ['nat64 (SEC-13)', { nat64: true }, '64:ff9b::192.0.2.1', '192.0.2.1'],
    ['nat64 (SEC-13)', { nat64: true }, '[64:FF9B::C000:201%eth0]:443', '192.0.2.1'],
    ['nat64 (SEC-13)', { nat64: true }, '64:ff9b:1::192.0.2.1', '64:ff9b:1::/56'],
    ['nat64 (SEC-13)', { nat64: true }, '64:ff9b::1:192.0.2.1', '64:ff9b::/56'],
    ['no nat64 (SEC-13)', { nat64: false }, '64:ff9b::192.0.2.1', '64:ff9b::/56'],
  ])('knows the option: %s', (_what, options, spelling, id) => {
    expect(new Addresses(options).clientAt(spelling)?.id).toBe(id);
  });

  it.each([[undefined], [null], [7], [['192.0.2.1']], [''], ['unknown'], ['1'.repeat(65)]])(
    'knows no client at %p (SEC-06, SEC-15)',
    (spelling) => {
      expect(new Addresses().clientAt(spelling)).toBeUndefined();
    },
  );

  it.each([
    ['commas', ','],
    ['digits', '1'],
    ['dots', '1.'],
    ['colons', ':'],
    ['groups', '0:'],
    ['brackets', '['],
    ['zones', '::%'],
  ])('passes 10 000 texts of 64 KB of %s without reading them (SEC-06, SEC-63)', (_what, part) => {
    const addresses = new Addresses();
    const hostile = part.repeat(65_536 / part.length);
    const start = performance.now();

    for (let n = 0; n < 10_000; n++) addresses.clientAt(`${hostile}${n}`);

    // Reading them once would be 640 MB.
    expect(performance.now() - start).toBeLessThan(250);
  });
});
