import type { Charge, Operation, Verb } from '../../src/stores/rate-limit.store.js';
import { planOf } from '../../src/stores/redis/plan.js';
import { encode } from '../../src/stores/redis/wire.js';
import { policyOf } from '../support/policies.js';

const policy = policyOf('gcra:10/1h');
const other = policyOf('gcra:10/1h', 'other');

const of = (key: string, more: Partial<Charge> = {}): Charge => ({ policy, key, cost: 1, ...more });
const asked = (charges: readonly Charge[], verb: Verb = 'consume'): Operation => ({
  verb,
  charges,
});
const shapeOf = (charges: readonly Charge[], verb?: Verb) => planOf(asked(charges, verb)).shape;

describe('a plan', () => {
  it('is made once for an operation that is asked again', () => {
    const operation: Operation = { ...asked([of('a')]), memo: { found: undefined } };

    expect(planOf(operation)).toBe(planOf(operation));
    expect(planOf(asked([of('a')]))).not.toBe(planOf(asked([of('a')])));
  });

  it('is made where a memo holds what is none', () => {
    const memo = { found: new Map() };

    expect(planOf({ ...asked([of('a')]), memo }).keys).toEqual(['a']);
  });

  it('has the shape of all that differ in their keys alone', () => {
    const shape = shapeOf([of('a'), of('b', { policy: other })]);

    expect(shapeOf([of('c'), of('d', { policy: other })])).toBe(shape);
  });

  it.each<[what: string, verb: Verb, charges: readonly Charge[]]>([
    ['verb', 'peek', [of('a')]],
    ['cost', 'consume', [of('a', { cost: 2 })]],
    ['policy', 'consume', [of('a', { policy: other })]],
    ['mode', 'consume', [of('a', { isShadow: true })]],
    ['field', 'consume', [of('a', { shared: { key: 'v', field: 7 } })]],
    ['number of charges', 'consume', [of('a'), of('b')]],
  ])('has another shape for another %s', (_what, verb, charges) => {
    expect(shapeOf(charges, verb)).not.toBe(shapeOf([of('a')]));
  });

  it('has another shape where charges share a value', () => {
    const shared = [1, 2].map((field) => of(`${field}`, { shared: { key: 'v', field } }));
    const apart = [1, 2].map((field) => of(`${field}`, { shared: { key: `v${field}`, field } }));

    expect(shapeOf(shared)).not.toBe(shapeOf(apart));
  });

  // Costs that depend on the request have no end.
  it('says the same whether its shape is remembered or not', () => {
    const plans = (): ReturnType<typeof planOf>[] =>
      Array.from({ length: 40 }, (_, cost) => planOf(asked([of('a', { cost })])));

    expect(encode(plans())).toEqual(encode(plans()));
  });
});
