import { RecentMap } from '../src/recent-map.js';

describe('RecentMap', () => {
  it('answers what was set last', () => {
    const map = new RecentMap<string, number>(10);

    map.set('a', 1);
    map.set('a', 2);

    expect(map.get('a')).toBe(2);
    expect(map.get('b')).toBeUndefined();
  });

  it.each([1, 2, 10, 100])('keeps the last %i used and forgets before twice as many', (size) => {
    const keys = Array.from({ length: 10 * size }, (_, key) => key);

    // A map for each key: asking for one keeps it longer.
    const kept = keys.filter((key) => filled(size, keys).get(key) !== undefined);

    expect(kept.slice(-size)).toEqual(keys.slice(-size));
    expect(kept.length).toBeLessThan(2 * size + 1);
  });

  it('keeps what is used however many others come', () => {
    const map = new RecentMap<string, number>(10);
    map.set('used', 1);
    map.set('unused', 1);

    for (let other = 0; other < 1000; other += 1) {
      map.set(`other ${other}`, other);
      map.get('used');
    }

    expect(map.get('used')).toBe(1);
    expect(map.get('unused')).toBeUndefined();
  });
});

function filled(size: number, keys: readonly number[]): RecentMap<number, number> {
  const map = new RecentMap<number, number>(size);
  for (const key of keys) map.set(key, key);
  return map;
}
