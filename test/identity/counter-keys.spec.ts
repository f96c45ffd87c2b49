import * as fc from 'fast-check';
import { globalSubject, namedSubject, subjectOf, type Client } from '../../src/identity/client.js';
import { CounterKeys, fieldsOf } from '../../src/identity/counter-keys.js';
import { tuple } from '../../src/identity/tuple.js';
import { SHARD_TAGS } from '../../src/identity/shard-tags.js';
import { definePolicy } from '../../src/policies/define-policy.js';
import type { PolicyText } from '../../src/policies/policy.js';
import { counterSpace } from '../../src/tiers/tier.js';
import { hashSlot } from '../support/hash-slot.js';

const RUNS = 5_000;

const keys = new CounterKeys('rl', 'a secret of the tests');

function keyOf(space: readonly string[], subject: readonly string[]): string {
  return keys.counter(tuple(...space), tuple(...subject)).key;
}

/** Parts as hostile as they come: delimiters, braces, lengths in front, NUL, the prefix. */
const part = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...':{}|,/ 0123456789ab\0é限🦊'.match(/./gsu)!),
    maxLength: 8,
  }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', '{rl}:', '1:a', '0:', '}{x', '{', '{}', 'a:b', 'key', 'global'),
);

describe('tuple', () => {
  it(`tells different lists of parts apart, over ${RUNS} pairs (SEC-23)`, () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.array(part, { maxLength: 5 }), (a, b) => {
        expect(tuple(...a) === tuple(...b)).toBe(same(a, b));
      }),
      { numRuns: RUNS },
    );
  });

  it(`tells a list from another cut of the same text, over ${RUNS} cuts`, () => {
    fc.assert(
      fc.property(part, part, fc.nat(16), (a, b, cut) => {
        const text = `${a}${b}`;
        const other = [text.slice(0, cut), text.slice(cut)];

        expect(tuple(a, b) === tuple(...other)).toBe(same([a, b], other));
      }),
      { numRuns: RUNS },
    );
  });
});

describe('CounterKeys', () => {
  it(`gives no two different tuples one key, over ${RUNS} pairs (SEC-23)`, () => {
    const tuples = fc.tuple(fc.array(part, { minLength: 4, maxLength: 4 }), fc.array(part));

    fc.assert(
      fc.property(tuples, tuples, (a, b) => {
        expect(keyOf(...a) === keyOf(...b)).toBe(same(a.flat(), b.flat()));
      }),
      { numRuns: RUNS },
    );
  });

  it('gives as many keys as there are tuples, over a million pairs (SEC-23)', () => {
    const lists = fc.sample(fc.array(part, { minLength: 2, maxLength: 4 }), 3_000);
    const tuples = new Map(lists.map((list) => [JSON.stringify(list), list]));

    const made = new Set([...tuples.values()].map(([space, ...who]) => keyOf([space!], who)));

    expect(tuples.size).toBeGreaterThan(1_500);
    expect(made.size).toBe(tuples.size);
  });

  it.each<[idea: string, a: string, b: string]>([
    ['kinds', subjectOf({ kind: 'user', id: '5' }), subjectOf({ kind: 'ip', id: '5' })],
    ['kinds', subjectOf({ kind: 'user', id: '5' }), subjectOf({ kind: 'api-key', id: '5' })],
    ['a name and a client', namedSubject('5'), subjectOf({ kind: 'user', id: '5' })],
    ['a name and everybody', namedSubject('global'), globalSubject],
    ['a name that spells a client', namedSubject('4:user1:5'), tuple('user', '5')],
    ['an empty name and everybody', namedSubject(''), globalSubject],
    ['cases', namedSubject('a'), namedSubject('A')],
    ['forms of one letter', namedSubject('\u00e9'), namedSubject('e\u0301')],
  ])('keeps %s apart', (_idea, a, b) => {
    expect(keys.counter('space', a).key).not.toBe(keys.counter('space', b).key);
  });

  // User report 9.
  it.each<[idea: string, name: string, scope: string, text: PolicyText, isSame: boolean]>([
    ['the same', 'tier', 'route', 'gcra:10/1m', true],
    ['another limit', 'tier', 'route', 'gcra:20/1m', true],
    ['another burst', 'tier', 'route', 'gcra:10/1m,burst=7', true],
    ['the same window otherwise written', 'tier', 'route', 'gcra:10/60s', true],
    ['another window', 'tier', 'route', 'gcra:10/2m', false],
    ['another algorithm', 'tier', 'route', 'token-bucket:10/1m', false],
    ['another name', 'plan', 'route', 'gcra:10/1m', false],
    ['another scope', 'tier', 'routes', 'gcra:10/1m', false],
    ['a name that swallows the scope', 'tier5:route', '', 'gcra:10/1m', false],
  ])('counts %s where the law says so (SEC-26, SEC-65)', (_idea, name, scope, text, isSame) => {
    const base = counterSpace(definePolicy('tier', 'gcra:10/1m', 'policy'), 'route');
    const other = counterSpace(definePolicy(name, text, 'policy'), scope);

    expect(keys.counter(base, 'x').key === keys.counter(other, 'x').key).toBe(isSame);
  });

  it.each([
    ['nothing', ''],
    ['one letter', 'a'],
    ['braces', '}{x'],
    ['an opening brace', '{'],
    ['an empty tag', '{}'],
    ['64 KB', 'x'.repeat(65_536)],
    ['1 MB', '限'.repeat(2 ** 20)],
  ])('makes a key of one length and one hash tag of %s (SEC-24, SEC-25)', (_what, id) => {
    expect(keyOf(['space', id], ['user', id])).toMatch(/^rl\{\w\w\}:[\w-]{22}$/);
  });

  it('makes the same key again, from memory and from anew', () => {
    const first = keyOf(['a'], ['b']);

    expect(keyOf(['a'], ['b'])).toBe(first);
    expect(new CounterKeys('rl', 'a secret of the tests').counter(tuple('a'), tuple('b')).key).toBe(
      first,
    );
  });

  it('shows nothing of who is counted (SEC-56)', () => {
    expect(keyOf(['plan'], ['user', 'ada@example.org'])).not.toMatch(/plan|user|ada|example/);
  });

  it('depends on the secret and on the prefix', () => {
    const made = [
      new CounterKeys('rl', 'one secret'),
      new CounterKeys('rl', 'another secret'),
      new CounterKeys('rl', ''),
      new CounterKeys('other', 'one secret'),
    ].map((each) => each.counter('space', 'subject').key);

    expect(new Set(made).size).toBe(4);
    expect(made[3]).toBe(made[0]!.replace('rl', 'other'));
  });
});

describe('counters that share a value', () => {
  const spaces = ['second', 'minute', 'hour'].map((space) => tuple(space));
  const fields = fieldsOf(spaces);
  const sharing = new CounterKeys('rl', 'a secret of the tests', true, fields);
  const ada = subjectOf({ kind: 'user', id: 'ada@example.org' });

  it('are those of one subject, each under a key and in a field of its own', () => {
    const made = spaces.map((space) => sharing.counter(space, ada));

    expect(new Set(made.map(({ key }) => key)).size).toBe(3);
    expect(new Set(made.map(({ shared }) => shared!.field)).size).toBe(3);
    expect(new Set(made.map(({ shared }) => shared!.key)).size).toBe(1);
    expect(made[0]!.shared!.key).toMatch(/^rl\{\w\w\}:[\w-]{22}$/);
    expect(made[0]!.key).not.toMatch(/ada|example|second/);
  });

  it('share it with nobody else, and with nothing that is counted apart (SEC-23)', () => {
    const others = [
      subjectOf({ kind: 'api-key', id: 'ada@example.org' }),
      namedSubject('ada@example.org'),
      globalSubject,
    ];

    const values = [
      ...[ada, ...others].map((subject) => sharing.counter(spaces[0]!, subject).shared!.key),
      ...[ada, ...others].map((subject) => sharing.counter(tuple('route'), subject).key),
    ];

    expect(new Set(values).size).toBe(8);
    expect(sharing.counter(tuple('route'), ada).shared).toBeUndefined();
    expect(tagOf(values[0]!)).toBe(tagOf(values[4]!));
  });

  it('have the same fields whatever else there is, in every process', () => {
    const more = fieldsOf([tuple('day'), ...spaces.toReversed()]);

    for (const space of spaces) expect(more.get(space)).toBe(fields.get(space));
  });

  it('leave out a space whose field another has', () => {
    // Found by trying: their hashes begin with the same four bytes.
    const [a, b] = ['space 10718', 'space 54023'];

    expect([...fieldsOf([a, b]).keys()]).toEqual([a]);
    expect([...fieldsOf([b, a]).keys()]).toEqual([b]);
  });

  it('need no value where nobody else sees the keys', () => {
    const own = new CounterKeys('rl', 'secret', false, fields);

    expect(own.counter(spaces[0]!, ada).shared).toBeUndefined();
  });
});

describe('the shards', () => {
  it('are those of the subject, whatever is counted of it (SEC-24)', () => {
    const tags = ['plan', 'route', 'edge'].map((space) => tagOf(keyOf([space], ['user', '42'])));

    expect(new Set(tags).size).toBe(1);
  });

  it('lie evenly over the slots of a cluster', () => {
    const slots = SHARD_TAGS.map((tag) => hashSlot(tag)).toSorted((a, b) => a - b);
    const width = 16_384 / SHARD_TAGS.length;

    expect(new Set(slots).size).toBe(SHARD_TAGS.length);
    for (const [index, slot] of slots.entries()) expect(Math.floor(slot / width)).toBe(index);
  });

  it('are used about alike', () => {
    const used = new Map<string, number>();
    for (let n = 0; n < 6_400; n++) {
      const tag = tagOf(keyOf(['space'], ['user', String(n)]));
      used.set(tag, (used.get(tag) ?? 0) + 1);
    }

    expect(used.size).toBe(SHARD_TAGS.length);
    expect(Math.max(...used.values())).toBeLessThan(160);
  });

  it('needs no hash where nobody else sees the keys, and tells the same apart', () => {
    const own = new CounterKeys('rl', 'secret', false);
    const long = 'x'.repeat(1_000_000);

    expect(own.counter(tuple('plan'), tuple('user', '42')).key).toBe('4:plan4:user2:42');
    expect(own.counter(tuple('plan'), tuple('user', long)).key.length).toBeLessThan(64);
    expect(own.counter(tuple('plan'), tuple('user', long)).key).toBe(
      new CounterKeys('rl', 'secret').counter(tuple('plan'), tuple('user', long)).key,
    );
  });

  it('makes the key of a client from its subject, asked once or again, shared or not', () => {
    const client = fc.record({
      kind: fc.constantFrom('ip', 'user', 'api-key' as const),
      id: fc.string({ minLength: 1 }),
    });
    fc.assert(
      fc.property(
        client,
        fc.array(fc.string(), { minLength: 1 }),
        fc.boolean(),
        (made, spaces, isShared) => {
          const fresh = new CounterKeys('rl', 'secret');
          const who = (isShared ? Object.freeze(made) : made) as Client;
          for (const space of [...spaces, ...spaces]) {
            expect(fresh.counterOf(space, who)).toEqual(
              new CounterKeys('rl', 'secret').counter(space, subjectOf(who)),
            );
          }
        },
      ),
    );
  });
});

function tagOf(key: string): string {
  return /\{(\w+)\}/.exec(key)![1]!;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index]);
}
