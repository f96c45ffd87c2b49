import type { Policy, PolicyText } from '../../../src/policies/policy.js';
import { LocalLimiter } from '../../../src/stores/failover/local-limiter.js';
import { MemoryStore } from '../../../src/stores/memory/memory.store.js';
import type { Charge, Decision, Verb } from '../../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../../support/policies.js';

const HOUR = 3_600_000;
/** The start of an hour. */
const START = 1_760_000_400_000 - (1_760_000_400_000 % HOUR);
const FIXED = policyOf('fixed-window:10/1h');

const clock = new ManualClock(START);
let store: MemoryStore;
let local: LocalLimiter;
let once: Charge;

beforeEach(() => {
  clock.set(START);
  store = new MemoryStore({ clock, source: 'redis' });
  share(1);
  once = chargeOf(FIXED, newSubject());
});

function share(instances: number): void {
  local = new LocalLimiter(new MemoryStore({ clock, source: 'fallback' }), instances, clock);
}

const costing = (cost: number, charge = once): Charge => ({ ...charge, cost });
const away = (verb: Verb, charge: Charge, isOwed = true): Decision =>
  local.decide(verb, [charge], isOwed)[0]!;

/** The store decides it, and is noted to have. */
function there(verb: Verb, ...charges: Charge[]): void {
  local.noteDecided({ verb, charges }, store.decideNow({ verb, charges }));
}

/** How many units are admitted here, one at a time. */
function admittedHere(charge = once): number {
  let admitted = 0;
  while (away('consume', costing(1, charge)).allowed) admitted++;
  return admitted;
}

const debts = (most = 1_000_000): number[] => local.takeDebts(most).map((debt) => debt.charge.cost);

describe('the share of a process', () => {
  it.each(TEN_AN_HOUR)('is what of the limit is its part, at least one: %s', (text) => {
    const policy = policyOf(text);
    const admitted = [1, 2, 4, 100].map((instances) => {
      share(instances);
      return admittedHere(chargeOf(policy, newSubject()));
    });

    expect(admitted).toEqual([10, 5, 2, 1]);
  });

  it('is nothing of nothing, and its decisions say who decided', () => {
    share(4);
    const decision = away('consume', chargeOf(policyOf('gcra:0/1h'), newSubject()));

    expect(decision).toMatchObject({ allowed: false, source: 'fallback' });
  });

  it('is decided for all charges or for none', () => {
    const other = chargeOf(policyOf('gcra:1/1h'), newSubject());
    expect(local.decide('consume', [once, other], true).map(({ allowed }) => allowed)).toEqual([
      true,
      true,
    ]);
    const refused = local.decide('consume', [once, other], true);

    expect(refused.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(admittedHere()).toBe(9);
    expect(debts()).toEqual([1, 10].toReversed());
  });
});

// RED-44
describe('what was admitted through the store', () => {
  it.each(TEN_AN_HOUR)('is taken off the share: %s', (text) => {
    share(2);
    once = chargeOf(policyOf(text), newSubject());
    there('consume', costing(2));
    there('consume', costing(1));

    expect(admittedHere()).toBe(2);
  });

  it.each(TEN_AN_HOUR)('fills it and overdraws nothing: %s', (text) => {
    share(2);
    once = chargeOf(policyOf(text), newSubject());
    there('charge', costing(1_000));
    const refused = away('consume', once);

    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1.2 * HOUR);
    expect(refused.resetAfterMs).toBeLessThanOrEqual(2 * HOUR);
  });

  it.each<[text: PolicyText, afterMs: number, admitted: number]>([
    ['fixed-window:10/1h', HOUR / 2 - 1, 2],
    // Another window has begun, in which the store would admit all of them.
    ['fixed-window:10/1h', HOUR / 2, 10],
    ['sliding-window-counter:10/1h', HOUR, 6],
    // It has drained again.
    ['token-bucket:10/1h', 0.4 * HOUR, 6],
    ['gcra:10/1h,burst=10', 0.8 * HOUR, 10],
    ['leaky-bucket:10/1h,burst=10,maxDelay=1h', 0.8 * HOUR, 10],
  ])('is taken off as far as it still counts: %s after %i ms', (text, afterMs, admitted) => {
    once = chargeOf(policyOf(text), newSubject());
    clock.set(START + HOUR / 2);
    there('consume', costing(8));
    clock.advance(afterMs);

    expect(admittedHere()).toBe(admitted);
  });

  it('is taken off once, and what came since in the next outage', () => {
    there('consume', costing(2));
    expect(away('consume', costing(3)).remaining).toBe(5);
    expect(away('consume', costing(1)).remaining).toBe(4);
    there('consume', costing(1));

    expect(away('peek', once).remaining).toBe(3);
  });

  it.each<[what: string, act: () => void, remaining: number]>([
    ['a peek', () => there('peek', costing(5)), 8],
    ['what was refused', () => there('consume', costing(9)), 8],
    [
      'what another charge refused',
      () => there('consume', once, chargeOf(policyOf('gcra:0/1h'), 'x')),
      8,
    ],
    ['a charge', () => there('charge', costing(5)), 3],
    ['a refund', () => there('refund', costing(1)), 9],
    ['a refund of more', () => there('refund', costing(5)), 10],
    ['a refund of what is not known', () => there('refund', chargeOf(FIXED, newSubject())), 8],
    ['a reset', () => there('reset', once), 10],
    ['a cost of nothing', () => there('consume', costing(0)), 8],
  ])('is what counts of it there: after %s', (_what, act, remaining) => {
    there('consume', costing(2));

    act();

    expect(away('peek', once).remaining).toBe(remaining);
  });

  it('leaves out a shadow that was over its limit', () => {
    const shadow: Charge = {
      ...chargeOf(policyOf('fixed-window:1/1h'), newSubject()),
      isShadow: true,
    };
    there('consume', once, shadow);
    there('consume', once, shadow);

    expect(away('peek', once).remaining).toBe(8);
  });

  it('holds a block, and its end', () => {
    there('block', costing(60_000));
    expect(away('consume', once)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    there('unblock', once);

    expect(away('consume', once).allowed).toBe(true);
  });
});

describe('what is admitted here', () => {
  it.each<[verb: Verb, isOwed: boolean, owed: number[]]>([
    ['consume', true, [3]],
    ['charge', true, [3]],
    ['peek', true, []],
    ['block', true, []],
    ['unblock', true, []],
    ['refund', true, []],
    ['reset', true, []],
    // The store may have charged it.
    ['consume', false, []],
    ['charge', false, []],
  ])('is owed to the store: %s, if it has surely not charged it: %s', (verb, isOwed, owed) => {
    away(verb, costing(3), isOwed);

    expect(local.owed).toBe(owed.length);
    expect(debts()).toEqual(owed);
  });

  it('is owed once', () => {
    away('consume', costing(3));

    expect([debts(), debts()]).toEqual([[3], []]);
    expect(local.owed).toBe(0);
  });

  it('is not owed when it was refused', () => {
    away('consume', costing(8));
    away('consume', costing(3));

    expect(debts()).toEqual([8]);
  });

  it.each(TEN_AN_HOUR)('is owed up to what its policy can hold: %s', (text) => {
    once = chargeOf(policyOf(text), newSubject());
    away('charge', costing(1_000));

    expect(debts()).toEqual([10]);
  });

  it.each<[text: PolicyText, afterMs: number, owed: number[]]>([
    ['fixed-window:10/1h', HOUR / 2 - 1, [8]],
    ['fixed-window:10/1h', HOUR / 2, []],
    ['sliding-window-log:10/1h', 1.5 * HOUR, []],
    ['sliding-window-counter:10/1h', HOUR, [4]],
    ['sliding-window-counter:10/1h', 1.5 * HOUR, []],
    // Somebody steady leaves nothing behind, and is not refused for it when the store is back.
    ['token-bucket:10/1h', 0.4 * HOUR, [4]],
    ['gcra:10/1h,burst=10', 0.8 * HOUR, []],
    ['leaky-bucket:10/1h,burst=10,maxDelay=1h', 0.8 * HOUR, []],
  ])('is owed as far as it still counts: %s after %i ms', (text, afterMs, owed) => {
    once = chargeOf(policyOf(text), newSubject());
    clock.set(START + HOUR / 2);
    away('consume', costing(8));
    clock.advance(afterMs);

    expect(debts()).toEqual(owed);
    expect(local.owed).toBe(0);
  });

  it.each<[verb: Verb, isOwed: boolean, owed: number[]]>([
    ['refund', true, [3]],
    // The store may have it already.
    ['refund', false, [5]],
    ['reset', true, []],
    ['reset', false, []],
  ])('is owed no more after a %s that the store has surely not done: %s', (verb, isOwed, owed) => {
    away('consume', costing(5));

    away(verb, costing(2), isOwed);

    expect(debts()).toEqual(owed);
  });

  it('is forgotten with a reset that the store has done', () => {
    away('consume', costing(5));
    there('reset', once);

    expect(debts()).toEqual([]);
    expect(away('peek', once).remaining).toBe(10);
  });

  it('is owed by the numbers that hold now', () => {
    const raised: Policy = policyOf('fixed-window:20/1h');
    away('consume', costing(10));
    away('consume', { ...once, policy: raised });

    expect(local.takeDebts(1)[0]!.charge).toMatchObject({ policy: raised, cost: 11 });
  });

  it('is taken in parts, oldest first', () => {
    for (const cost of [1, 2, 3]) away('consume', costing(cost, chargeOf(FIXED, newSubject())));

    expect([debts(2), debts(2), debts(2)]).toEqual([[1, 2], [3], []]);
  });
});

describe('what could not be handed back', () => {
  it('is owed again, with what came since', () => {
    away('consume', costing(3));
    const taken = local.takeDebts(1);
    away('consume', costing(2));

    for (const debt of taken) local.oweAgain(debt);

    expect(debts()).toEqual([5]);
  });

  // It was tried every second of an outage of a part of a cluster: that makes it no younger.
  it('gets no younger by that', () => {
    clock.set(START + HOUR - 2_500);
    away('consume', costing(3));
    const owed: number[] = [];
    for (let second = 0; second < 5; second++) {
      const taken = local.takeDebts(1);
      owed.push(...taken.map(({ charge }) => charge.cost));
      for (const debt of taken) local.oweAgain(debt);
      clock.advance(1_000);
    }

    expect(owed).toEqual([3, 3, 3]);
    expect(local.owed).toBe(0);
  });

  it('waits behind the others', () => {
    for (const cost of [1, 2, 3]) away('consume', costing(cost, chargeOf(FIXED, newSubject())));
    for (const debt of local.takeDebts(1)) local.oweAgain(debt);

    expect(debts()).toEqual([2, 3, 1]);
  });
});

it('owes 100 000 keys, and what more keys admit is not handed back', () => {
  for (let n = 0; n < 100_001; n++) away('consume', { policy: FIXED, key: `${n}`, cost: 1 });
  away('consume', { policy: FIXED, key: '0', cost: 1 });
  expect(local.owed).toBe(100_000);
  const [first, ...others] = local.takeDebts(100_000);
  away('consume', { policy: FIXED, key: 'another', cost: 1 });

  expect(first!.charge).toMatchObject({ key: '0', cost: 2 });
  expect(others.every(({ charge }) => charge.cost === 1)).toBe(true);
  expect(local.owed).toBe(1);
});
