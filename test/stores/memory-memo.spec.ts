import * as fc from 'fast-check';
import type { Policy, PolicyText } from '../../src/policies/policy.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Memo, Operation, Verb } from '../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, policyOf } from '../support/policies.js';

const KEYS = 6;
/** Fewer places than keys, so that keys are forgotten and share an overflow. */
const MAX_KEYS = 4;

const step = fc.record({
  verb: fc.constantFrom<Verb[]>(
    'consume',
    'consume',
    'consume',
    'charge',
    'refund',
    'reset',
    'block',
    'unblock',
  ),
  /** Whether another store is asked in between, which then has its own note in the memo. */
  isOther: fc.boolean(),
  keys: fc.array(fc.nat({ max: KEYS - 1 }), { minLength: 1, maxLength: 2 }),
  cost: fc.nat({ max: 6 }),
  afterMs: fc.constantFrom(0, 1, 700_000, 3_600_000, -5_000),
  policy: fc.nat({ max: 1 }),
});

describe('a charge that remembers its account', () => {
  it.each(TEN_AN_HOUR)('is decided as one that does not: %s', (text) => {
    const policies = [policyOf(text), policyOf(text.replace(':10/', ':7/') as PolicyText)];
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        const clock = new ManualClock(1_760_000_400_000);
        const remembering = new MemoryStore({ clock, maxKeys: MAX_KEYS });
        const plain = new MemoryStore({ clock, maxKeys: MAX_KEYS });
        const other = new MemoryStore({ clock, maxKeys: MAX_KEYS });
        const memos = Array.from({ length: KEYS }, (): Memo => ({ found: undefined }));

        for (const { verb, keys, cost, afterMs, policy, isOther } of steps) {
          clock.set(clock.now() + afterMs);
          const operation = (isRemembering: boolean): Operation => ({
            verb,
            charges: keys.map((key) => ({
              policy: policies[policy]!,
              key: `key ${key}`,
              memo: isRemembering ? memos[key] : undefined,
              cost,
            })),
          });
          if (isOther) other.decideNow(operation(true));
          expect(remembering.decideNow(operation(true))).toEqual(plain.decideNow(operation(false)));
          expect(remembering.size).toBe(plain.size);
        }
      }),
    );
  });

  it('does not look for the key again, and does once it was forgotten', () => {
    const policy: Policy = policyOf('fixed-window:10/1h');
    const store = new MemoryStore();
    const memo: Memo = { found: undefined };
    const charge = { policy, key: 'key', memo, cost: 1 };

    store.consumeNow(charge);
    store.consumeNow(charge);
    expect(memo.found).toBeDefined();
    expect(store.consumeNow({ ...charge, key: 'not looked for' }).remaining).toBe(7);

    store.decideNow({ verb: 'reset', charges: [charge] });
    expect(store.consumeNow(charge).remaining).toBe(9);
  });
});
