import { RequestIdentity } from '../src/identity/request-identity.js';
import { checkTier } from '../src/tiers/check-tier.js';
import type { Tier } from '../src/tiers/tier.js';
import { Visit, knownVisit, visitOf } from '../src/visit.js';

const IDENTITY = {} as RequestIdentity;
const identify = () => IDENTITY;

const tierNamed = (name: string): Tier =>
  checkTier(
    { name, policy: 'gcra:10/1m' },
    { option: 'tier', onStoreFailure: 'local', identities: [] },
  );

const [root, a, b] = ['root', 'a', 'b'].map(tierNamed) as [Tier, Tier, Tier];
const namesOf = (tiers: readonly Tier[]): string[] => tiers.map(({ name }) => name);

describe('a visit', () => {
  it.each<[what: string, asked: Tier[][], counted: string[][]]>([
    [
      'the same guard twice',
      [
        [root, a],
        [root, a],
      ],
      [['root', 'a'], []],
    ],
    // `next()` hands a request on to another handler, whose own limit has not counted it.
    [
      'another handler',
      [
        [root, a],
        [root, b],
      ],
      [['root', 'a'], ['b']],
    ],
    [
      'and back',
      [
        [root, a],
        [root, b],
        [root, a],
      ],
      [['root', 'a'], ['b'], []],
    ],
    [
      'the other twice',
      [
        [root, a],
        [root, b],
        [root, b],
      ],
      [['root', 'a'], ['b'], []],
    ],
    ['phases one after the other', [[root], [a], [b]], [['root'], ['a'], ['b']]],
    ['a handler without tiers', [[], [a]], [[], ['a']]],
    ['nothing new', [[root, a], []], [['root', 'a'], []]],
  ])('is counted once by each tier: %s', (_what, asked, counted) => {
    const visit = new Visit(IDENTITY);

    expect(asked.map((tiers) => namesOf(visit.count(tiers)))).toEqual(counted);
  });

  it('leaves the tiers that it is asked about as they are', () => {
    const visit = new Visit(IDENTITY);
    const tiers = [root];

    visit.count(tiers);
    visit.count([a]);

    expect(tiers).toEqual([root]);
  });

  it('takes tiers of one name for two: they count under keys of their own', () => {
    const visit = new Visit(IDENTITY);

    expect([visit.count([tierNamed('route')]), visit.count([tierNamed('route')])]).toEqual([
      [expect.objectContaining({ name: 'route' })],
      [expect.objectContaining({ name: 'route' })],
    ]);
  });
});

describe('visitOf', () => {
  it.each<[what: string, make: () => object]>([
    ['a plain object', () => ({})],
    ['one of a class', () => new (class Request {})()],
    ['one that nothing can be put on', () => Object.freeze({})],
    ['one without a prototype', () => Object.create(null) as object],
  ])('is one visit for each carrier: %s', (_what, make) => {
    const [carrier, other] = [make(), make()];
    const asked = jest.fn(identify);

    const visit = visitOf(carrier, asked);

    expect(visitOf(carrier, asked)).toBe(visit);
    expect(knownVisit(carrier)).toBe(visit);
    expect(visitOf(other, asked)).not.toBe(visit);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('is unknown before, and of nothing', () => {
    expect(knownVisit({})).toBeUndefined();
    expect(knownVisit(undefined)).toBeUndefined();
  });

  it('is not that of what a carrier was made from', () => {
    const request = {};
    const visit = visitOf(request, identify);

    expect(visitOf(Object.create(request) as object, identify)).not.toBe(visit);
  });

  it('stays with a carrier that is frozen later', () => {
    const carrier = {};
    const visit = visitOf(carrier, identify);

    expect(visitOf(Object.freeze(carrier), identify)).toBe(visit);
  });

  it('is not seen by whoever prints the request', () => {
    const carrier = { a: 1 };
    visitOf(carrier, identify);

    expect(JSON.stringify(carrier)).toBe('{"a":1}');
    expect(Object.keys(carrier)).toEqual(['a']);
  });
});
