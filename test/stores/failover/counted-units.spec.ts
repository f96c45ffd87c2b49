import * as fc from 'fast-check';
import type { PolicyText } from '../../../src/policies/policy.js';
import { CountedUnits } from '../../../src/stores/failover/counted-units.js';
import { MemoryStore } from '../../../src/stores/memory/memory.store.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, policyOf } from '../../support/policies.js';

/** The start of an hour. */
const HOUR = 3_600_000;
const START = 1_760_000_400_000 - (1_760_000_400_000 % HOUR);

describe('units that still count', () => {
  const half = HOUR / 2;

  it.each<[text: PolicyText, after: number, left: number]>([
    // All of a fixed window until it is over, wherever in it they were.
    ['fixed-window:10/1h', half - 1, 8],
    ['fixed-window:10/1h', half, 0],
    // Of the window before its share.
    ['sliding-window-counter:10/1h', half, 8],
    ['sliding-window-counter:10/1h', half + 0.5 * HOUR, 4],
    ['sliding-window-counter:10/1h', half + 0.55 * HOUR, 4],
    ['sliding-window-counter:10/1h', half + HOUR, 0],
    ['sliding-window-log:10/1h', half, 8],
    ['sliding-window-log:10/1h', half + HOUR, 0],
    // A bucket drains from the first moment: ten an hour.
    ['token-bucket:10/1h', half, 3],
    ['token-bucket:10/1h', half + 1, 3],
    ['gcra:10/1h', half, 3],
    ['leaky-bucket:10/1h', 0.8 * HOUR, 0],
    ['token-bucket:0/1h', 100 * HOUR, 8],
  ])('of %s, %i ms after 8 of them in the middle of an hour: %i', (text, after, left) => {
    const units = new CountedUnits();

    units.add(policyOf(text), 8, START + half);

    expect(units.at(policyOf(text), START + half + after)).toBe(left);
  });

  it.each(TEN_AN_HOUR)('are never fewer than none: %s', (text) => {
    const units = new CountedUnits();

    units.add(policyOf(text), 3, START);
    units.add(policyOf(text), -5, START);
    units.add(policyOf(text), 2, START);

    expect(units.at(policyOf(text), START)).toBe(2);
  });

  it('are not more than were counted, however many', () => {
    const policy = policyOf('sliding-window-counter:9000000/11d');
    const most = 10 ** 15 + 16;
    const units = new CountedUnits();
    const start = START - (START % policy.windowMs);

    units.add(policy, most, start);

    expect(units.at(policy, start + policy.windowMs)).toBeLessThanOrEqual(most);
  });

  // What is asked for by the hand-back, against the law itself.
  it.each(TEN_AN_HOUR.filter((text) => !text.startsWith('sliding-window-log')))(
    'are what the law counts: %s',
    (text) => {
      const policy = policyOf(text);
      const step = fc.record({ ms: fc.nat(HOUR), cost: fc.integer({ min: 0, max: 3 }) });
      fc.assert(
        fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
          const clock = new ManualClock(START);
          const law = new MemoryStore({ clock });
          const units = new CountedUnits();
          for (const { ms, cost } of steps) {
            clock.advance(ms);
            const charges = [{ policy, key: 'key', cost }];
            const [decision] = law.decideNow({ verb: 'consume', charges });
            if (!decision!.allowed) continue;
            units.add(policy, cost, clock.now());
            const counted = policy.limit - decision!.remaining;
            // To a unit: the drain of a bucket is no whole number.
            expect(units.at(policy, clock.now())).toBeGreaterThanOrEqual(counted - 1);
            expect(units.at(policy, clock.now())).toBeLessThanOrEqual(counted + 1);
          }
        }),
      );
    },
  );
});
