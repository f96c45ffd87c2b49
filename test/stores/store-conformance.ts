import type { PolicyText } from '../../src/policies/policy.js';
import type { Charge, Decision, RateLimitStore, Verb } from '../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../support/policies.js';

const HOUR = 3_600_000;
const MAX = Number.MAX_SAFE_INTEGER;
/** The start of an hour, so that windows begin with each test. */
const START = 1_760_000_400_000;

/** Opens a store that reads the time of the clock; called once for a whole suite. */
export type OpenStore = (clock: ManualClock) => Promise<{
  readonly store: RateLimitStore;
  readonly close?: () => Promise<void> | void;
}>;

/** What every RateLimitStore does, whoever keeps its counters. Counters are told apart by key only. */
export function describeConformance(open: OpenStore): void {
  const clock = new ManualClock(START);
  let store: RateLimitStore;
  let close: (() => Promise<void> | void) | undefined;

  beforeAll(async () => {
    ({ store, close } = await open(clock));
  });

  beforeEach(() => clock.set(START));

  afterAll(() => close?.());

  const ask = (verb: Verb, ...charges: Charge[]) => store.decide({ verb, charges });
  const one = async (verb: Verb, charge: Charge): Promise<Decision> =>
    (await ask(verb, charge))[0]!;
  const look = (charge: Charge) => one('peek', { ...charge, cost: 1 });

  describe.each(TEN_AN_HOUR)('%s', (text) => {
    const policy = policyOf(text);
    let once: Charge;
    const costing = (cost: number): Charge => ({ ...once, cost });

    beforeEach(() => {
      once = chargeOf(policy, newSubject());
    });

    it('admits ten of fifty at the same time', async () => {
      const decisions = await Promise.all(Array.from({ length: 50 }, () => one('consume', once)));

      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect(await look(once)).toMatchObject({ allowed: false, remaining: 0 });
    });

    it('says what is asked about it', async () => {
      const decision = await one('consume', costing(4));

      expect(decision).toEqual({
        policy: 'tier',
        allowed: true,
        limit: 10,
        remaining: 6,
        retryAfterMs: 0,
        resetAfterMs: expect.any(Number),
        delayMs: 0,
        source: expect.stringMatching(/^(memory|redis)$/),
      });
    });

    it('passes at the millisecond it names and not one earlier', async () => {
      await one('consume', costing(10));
      const refused = await one('consume', costing(3));

      clock.advance(refused.retryAfterMs - 1);
      const early = await one('consume', costing(3));
      clock.advance(1);
      const due = await one('consume', costing(3));

      expect([refused.allowed, early.allowed, due.allowed]).toEqual([false, false, true]);
      expect(early.retryAfterMs).toBe(1);
    });

    it('is full at the millisecond it names and not one earlier', async () => {
      const { resetAfterMs } = await one('consume', costing(7));

      clock.advance(resetAfterMs - 1);
      const early = await look(once);
      clock.advance(1);
      const due = await look(once);

      expect(early.resetAfterMs).toBe(1);
      expect(due).toMatchObject({ remaining: 10, resetAfterMs: 0 });
    });

    // User report 1.
    it('charges nothing for a refusal (SEC-43)', async () => {
      await one('consume', costing(8));
      const before = await look(once);

      const tooMuch = await one('consume', costing(3));
      const never = await one('consume', costing(11));

      expect(tooMuch).toMatchObject({ allowed: false, remaining: 2, delayMs: 0 });
      expect(never).toMatchObject({ allowed: false, remaining: 2, retryAfterMs: Infinity });
      expect(await look(once)).toEqual(before);
    });

    // User report 12.
    it('peeks at the answer of the next call and charges nothing', async () => {
      const fresh = await one('peek', costing(4));
      const taken = await one('consume', costing(4));
      const peeked = await one('peek', costing(7));

      expect(fresh).toMatchObject({ allowed: true, remaining: 10 });
      expect(taken).toMatchObject({ allowed: true, remaining: 6 });
      expect(await one('consume', costing(7))).toEqual(peeked);
    });

    it('lets cost 0 pass at any time and charges nothing for it', async () => {
      await one('consume', costing(10));
      const before = await look(once);

      const free = await one('consume', costing(0));

      expect(free).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0, delayMs: 0 });
      expect(await look(once)).toEqual(before);
    });

    it('charges after the fact into debt, which a refund takes back', async () => {
      await one('consume', costing(9));
      const before = await look(once);

      const overdrawn = await one('charge', costing(20));
      const refused = await one('consume', once);
      await one('refund', costing(20));

      expect(overdrawn).toMatchObject({ allowed: true, remaining: 0 });
      expect(refused.allowed).toBe(false);
      expect(await look(once)).toEqual(before);
    });

    // User report 11.
    it('refunds to full and no further (SEC-67)', async () => {
      await one('consume', costing(3));

      const refunded = await one('refund', costing(100));
      await one('refund', costing(100));

      expect(refunded).toMatchObject({ allowed: true, remaining: 10, resetAfterMs: 0 });
      expect(await one('consume', costing(11))).toMatchObject({ allowed: false, remaining: 10 });
    });

    // User report 3.
    it('ends a block on time, however often it is asked meanwhile', async () => {
      const blocked = await one('block', costing(60_000));
      for (let second = 0; second < 60; second += 1) {
        await one('consume', once);
        clock.advance(1000);
      }

      expect(blocked).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_000 });
      expect(await one('consume', once)).toMatchObject({ allowed: true, remaining: 9 });
    });

    it('lifts a block and keeps what was counted underneath', async () => {
      await one('consume', costing(4));
      await one('block', costing(60_000));
      await one('charge', once);

      expect(await one('unblock', once)).toMatchObject({ allowed: true, remaining: 5 });
    });

    it('forgets counter and block when it is reset', async () => {
      await one('consume', costing(10));
      await one('block', costing(60_000));

      const reset = await one('reset', once);

      expect(reset).toMatchObject({ allowed: true, remaining: 10, resetAfterMs: 0 });
      expect(await one('consume', costing(10))).toMatchObject({ allowed: true, remaining: 0 });
    });

    // User report 9.
    it('holds another limit at once, with no free refill and nothing below 0', async () => {
      await one('consume', costing(8));
      const larger = { ...once, policy: withLimit(text, 20) };
      const smaller = { ...once, policy: withLimit(text, 5) };

      expect((await look(smaller)).remaining).toBe(text.startsWith('token') ? 2 : 0);
      expect((await look(larger)).remaining).toBe(text.startsWith('token') ? 2 : 12);
      expect(await look(once)).toMatchObject({ allowed: true, remaining: 2 });
    });

    it('refuses everything but cost 0 at limit 0', async () => {
      const closed = { ...once, policy: withLimit(text, 0) };

      expect(await one('consume', closed)).toMatchObject({
        allowed: false,
        remaining: 0,
        retryAfterMs: Infinity,
      });
      expect(await one('consume', { ...closed, cost: 0 })).toMatchObject({ allowed: true });
    });

    // RED-34.
    it.each([
      ['a second', 1000],
      ['an hour', HOUR],
      ['a day', 24 * HOUR],
    ])('neither refills nor locks out when the clock goes back %s', async (_far, backMs) => {
      await one('consume', costing(10));

      clock.advance(-backMs);
      const refused = await one('consume', once);
      clock.advance(refused.retryAfterMs);

      expect(refused).toMatchObject({ allowed: false, remaining: 0 });
      // The window counters count from the start of a window: theirs and the one before.
      expect(refused.retryAfterMs).toBeLessThanOrEqual(3 * HOUR);
      expect(await one('consume', once)).toMatchObject({ allowed: true });
    });

    it('starts afresh under another window or another name', async () => {
      const subject = newSubject();
      await one('consume', chargeOf(policy, subject, 10));

      const slower = policyOf(text.replaceAll('1h', '2h') as PolicyText);
      const renamed = policyOf(text, 'another');

      expect((await look(chargeOf(slower, subject))).remaining).toBe(10);
      expect((await look(chargeOf(renamed, subject))).remaining).toBe(10);
      expect((await look(chargeOf(policy, subject))).remaining).toBe(0);
    });
  });

  it('starts afresh under another algorithm (SEC-65)', async () => {
    const subject = newSubject();

    for (const text of TEN_AN_HOUR) {
      const decision = await one('consume', chargeOf(policyOf(text), subject, 10));

      expect(decision).toMatchObject({ allowed: true, remaining: 0 });
    }
  });

  it('has a leaky bucket tell each caller its delay', async () => {
    const once = chargeOf(policyOf('leaky-bucket:10/1s,maxDelay=250ms'), newSubject());

    const decisions = await Promise.all([1, 2, 3, 4].map(() => one('consume', once)));

    expect(decisions.map(({ delayMs }) => delayMs)).toEqual([0, 100, 200, 0]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(decisions[3]).toMatchObject({ remaining: 0, retryAfterMs: 50 });
  });

  it('counts up to 2^53 − 1 to the unit', async () => {
    const once = chargeOf(policyOf(`fixed-window:${MAX}/1h`), newSubject());

    await one('consume', { ...once, cost: MAX - 3 });

    expect(await one('consume', once)).toMatchObject({ allowed: true, remaining: 2 });
    expect(await one('charge', { ...once, cost: MAX })).toMatchObject({ remaining: 0 });
    expect(await one('refund', once)).toMatchObject({ remaining: 1 });
  });

  it.each<PolicyText>([
    'fixed-window:1/500ms',
    'sliding-window-log:1/500ms',
    'token-bucket:1/500ms',
    'fixed-window:1/1500ms',
    'gcra:1/1500ms',
  ])('is as exact below and between seconds: %s (SEC-42)', async (text) => {
    const once = chargeOf(policyOf(text), newSubject());
    await one('consume', once);
    const { retryAfterMs } = await one('consume', once);

    clock.advance(retryAfterMs - 1);
    const early = await one('consume', once);
    clock.advance(1);

    expect(early.allowed).toBe(false);
    expect(await one('consume', once)).toMatchObject({ allowed: true });
  });

  describe('several charges of one call', () => {
    const minute = policyOf('sliding-window-counter:100/1m', 'minute');
    const hour = policyOf('token-bucket:50/1h', 'hour');
    const day = policyOf('fixed-window:5/1d', 'day');
    let charges: [Charge, Charge, Charge];

    beforeEach(() => {
      const subject = newSubject();
      charges = [chargeOf(minute, subject), chargeOf(hour, subject), chargeOf(day, subject)];
    });

    it('charges all when all pass', async () => {
      const decisions = await ask('consume', ...charges);

      expect(decisions.map(({ policy }) => policy)).toEqual(['minute', 'hour', 'day']);
      expect(verdicts(decisions)).toEqual([true, true, true]);
      expect(remainders(decisions)).toEqual([99, 49, 4]);
    });

    // User report 2.
    it('charges none when the third refuses (SEC-55)', async () => {
      await one('consume', { ...charges[2], cost: 5 });

      const decisions = await ask('consume', ...charges);

      expect(verdicts(decisions)).toEqual([true, true, false]);
      expect(remainders(decisions)).toEqual([100, 50, 0]);
      expect(remainders(await ask('peek', ...charges))).toEqual([100, 50, 0]);
    });

    it('charges none when the first refuses', async () => {
      await one('consume', { ...charges[0], cost: 100 });

      const decisions = await ask('consume', ...charges);

      expect(verdicts(decisions)).toEqual([false, true, true]);
      expect(remainders(await ask('peek', ...charges))).toEqual([0, 50, 5]);
    });

    it('lets a shadow charge refuse nothing, and charges it nothing then', async () => {
      const shadow = { ...charges[2], isShadow: true };
      await one('consume', { ...charges[2], cost: 5 });

      const decisions = await ask('consume', charges[0], shadow, charges[1]);

      expect(verdicts(decisions)).toEqual([true, false, true]);
      expect(remainders(decisions)).toEqual([99, 0, 49]);
    });

    it('charges a shadow charge that passes, with the others', async () => {
      const shadow = { ...charges[2], isShadow: true };

      await ask('consume', charges[0], shadow);
      await one('consume', { ...charges[0], cost: 99 });
      await ask('consume', charges[0], shadow);

      expect(remainders(await ask('peek', charges[0], shadow))).toEqual([0, 4]);
    });

    it('decides a later charge of a key on what the earlier would leave', async () => {
      const [, , three] = charges.map((charge) => ({ ...charge, cost: 3 }));
      const two = { ...charges[2], cost: 2 };

      const refused = await ask('consume', three!, three!);
      const passed = await ask('consume', three!, two);

      expect(verdicts(refused)).toEqual([true, false]);
      expect(remainders(refused)).toEqual([5, 5]);
      expect(verdicts(passed)).toEqual([true, true]);
      expect(remainders(passed)).toEqual([0, 0]);
    });

    it('peeks at several as they would be decided', async () => {
      await one('consume', { ...charges[2], cost: 4 });
      const wanted = [charges[0], charges[2], charges[2]];

      const peeked = await ask('peek', ...wanted);

      expect(verdicts(peeked)).toEqual([true, true, false]);
      expect(await ask('consume', ...wanted)).toEqual(peeked);
    });

    it.each<[verb: Verb, cost: number, left: number[]]>([
      ['charge', 2, [98, 48, 3]],
      ['refund', 2, [100, 50, 5]],
      ['block', 1000, [0, 0, 0]],
      ['unblock', 1, [100, 50, 5]],
      ['reset', 1, [100, 50, 5]],
    ])('does %s to each', async (verb, cost, left) => {
      const decisions = await ask(verb, ...charges.map((charge) => ({ ...charge, cost })));

      expect(remainders(decisions)).toEqual(left);
      expect(remainders(await ask('peek', ...charges))).toEqual(left);
    });

    it('decides nothing when nothing is asked', async () => {
      expect(await ask('consume')).toEqual([]);
    });
  });
}

function withLimit(text: PolicyText, limit: number) {
  const burst = text.includes('burst') ? `,burst=${limit}` : '';
  const [algorithm] = text.split(':');
  const maxDelay = text.startsWith('leaky') ? ',maxDelay=1h' : '';
  return policyOf(`${algorithm}:${limit}/1h${burst}${maxDelay}` as PolicyText);
}

function remainders(decisions: readonly Decision[]): number[] {
  return decisions.map((decision) => decision.remaining);
}

function verdicts(decisions: readonly Decision[]): boolean[] {
  return decisions.map((decision) => decision.allowed);
}
