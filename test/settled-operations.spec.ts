import type { Client } from '../src/identity/client.js';
import { SettledOperations } from '../src/settled-operations.js';
import type { Operation } from '../src/stores/rate-limit.store.js';
import type { Tier } from '../src/tiers/tier.js';

const ANN: Client = Object.freeze({ kind: 'user', id: 'ann' });
const BEN: Client = Object.freeze({ kind: 'user', id: 'ben' });

const list = (): readonly Tier[] => Object.freeze([]);
const make = (): Operation => ({ verb: 'consume', charges: [] });

describe('what clients consume of tiers', () => {
  let settled: SettledOperations;

  beforeEach(() => {
    settled = new SettledOperations();
  });

  it('is made once for a client and a list', () => {
    const [first, second] = [list(), list()];
    const operation = settled.of(first, ANN, make);

    expect(operation).toBeDefined();
    expect(settled.of(first, ANN, make)).toBe(operation);
    expect(settled.of(second, ANN, make)).not.toBe(operation);
    expect(settled.of(first, BEN, make)).not.toBe(operation);
    expect(settled.of(first, ANN, make)).toBe(operation);
  });

  it.each<[what: string, tiers: readonly Tier[], client: Client]>([
    ['a client', list(), { kind: 'user', id: 'ann' }],
    ['a list', [], ANN],
  ])('is not kept for %s that is made for a request', (_what, tiers, client) => {
    expect(settled.of(tiers, client, make)).toBeUndefined();
  });

  it('is kept for so many lists of a client, and made anew for more', () => {
    const lists = Array.from({ length: 8 }, list);
    const kept = lists.map((tiers) => settled.of(tiers, ANN, make));
    const ninth = list();

    expect(settled.of(ninth, ANN, make)).toBeDefined();
    expect(settled.of(ninth, ANN, make)).not.toBe(settled.of(ninth, ANN, make));
    for (const [place, tiers] of lists.entries()) {
      expect(settled.of(tiers, ANN, make)).toBe(kept[place]);
    }
  });
});
