import * as fc from 'fast-check';
import type { Charge, Decision } from '../../src/stores/rate-limit.store.js';
import { adjacentOrder, inOrderAsked } from '../../src/stores/redis/adjacent.js';
import { policyOf } from '../support/policies.js';

const policy = policyOf('gcra:10/1h');

/** One charge for each letter, which names its value; a capital has a value of its own. */
function chargesOf(values: string): Charge[] {
  return values.split('').map((value, field) => {
    const isAlone = value === value.toUpperCase();
    const shared = isAlone ? undefined : { key: value, field };
    return { policy, key: isAlone ? value : `${value}:${field}`, shared, cost: 1 };
  });
}

it.each<[values: string, order: string | undefined]>([
  ['', undefined],
  ['a', undefined],
  ['ab', undefined],
  ['aab', undefined],
  ['abbb', undefined],
  ['ABC', undefined],
  ['aba', 'aab'],
  ['abab', 'aabb'],
  ['aBa', 'aaB'],
  ['BaB', 'BBa'],
  ['abcba', 'aabbc'],
])('charges of the values %j are sent as %j', (values, order) => {
  const places = adjacentOrder(chargesOf(values));

  expect(places?.map((place) => values[place]).join('')).toBe(order);
});

it('keeps the order of the charges of a value, and answers in the order asked', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'D') }), (values) => {
      const charges = chargesOf(values);
      const order = adjacentOrder(charges) ?? charges.map((_charge, place) => place);

      for (const value of 'abcD') {
        const places = order.filter((place) => values[place] === value);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }
      const decided = order.map((place) => ({ policy: `${place}` }) as Decision);
      expect(inOrderAsked(decided, order).map((each) => Number(each.policy))).toEqual(
        charges.map((_charge, place) => place),
      );
    }),
  );
});
