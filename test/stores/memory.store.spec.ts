import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { PolicyText } from '../../src/policies/policy.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Charge, Decision, Verb } from '../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, policyOf } from '../support/policies.js';
import { describeConformance } from './store-conformance.js';

const START = 1_760_000_400_000;
const SECOND = 1000;
const DAY = 86_400_000;

describe('MemoryStore', () => {
  describeConformance((clock) => Promise.resolve({ store: new MemoryStore({ clock }) }));

  let clock: ManualClock;

  beforeEach(() => {
    clock = new ManualClock(START);
  });

  it('has the real time for its clock and 1 000 000 keys by default', () => {
    const decision = one(new MemoryStore(), 'consume', {
      policy: policyOf('fixed-window:10/1d'),
      key: 'key',
      cost: 1,
    });

    expect(decision).toMatchObject({ allowed: true, remaining: 9, source: 'memory' });
    expect(Math.abs(decision.resetAfterMs - (DAY - (Date.now() % DAY)))).toBeLessThan(SECOND);
  });

  it('names the source it is told', () => {
    const store = new MemoryStore({ clock, source: 'fallback' });

    expect(
      one(store, 'peek', { policy: policyOf('gcra:10/1h'), key: 'key', cost: 1 }),
    ).toMatchObject({ source: 'fallback' });
  });

  // Catalogue fact 11, user report 30.
  it('keeps no more than maxKeys, and one overflow for each policy', () => {
    const store = new MemoryStore({ clock, maxKeys: 100 });

    flood(store, 10_000);
    expect(store.size).toBe(100);

    flood(store, 10_000, policyOf('token-bucket:1/1h'));
    expect(store.size).toBe(101);
  });

  it('keeps no more when fresh keys use up what they find', () => {
    const store = new MemoryStore({ clock, maxKeys: 100 });
    const policy = policyOf('token-bucket:2/1h');

    for (let call = 0; call < 10_000; call += 1) {
      one(store, 'consume', { policy, key: `fresh ${call >> 1}`, cost: 1 });
    }

    expect(store.size).toBe(101);
  });

  it('keeps nothing for requests that leave a full quota', () => {
    const store = new MemoryStore({ clock });
    const charge = { policy: policyOf('token-bucket:10/1h'), key: 'key', cost: 1 };

    one(store, 'peek', charge);
    one(store, 'consume', { ...charge, cost: 0 });
    one(store, 'consume', { ...charge, cost: 11 });
    one(store, 'refund', charge);
    one(store, 'unblock', charge);
    one(store, 'consume', charge);
    one(store, 'refund', charge);

    expect(store.size).toBe(0);
  });

  // User report 14.
  it('sweeps what has expired as new keys come, without a timer (SEC-50)', () => {
    const store = new MemoryStore({ clock });
    const timers = timersRunning();
    flood(store, 1000, policyOf('fixed-window:10/1s'));

    clock.advance(2 * SECOND);
    for (let index = 0; index < 600; index += 1) {
      one(store, 'consume', { policy: policyOf('gcra:10/1h'), key: `later ${index}`, cost: 1 });
    }

    expect(store.size).toBeLessThanOrEqual(650);
    expect(timersRunning()).toBe(timers);
  });

  describe.each(TEN_AN_HOUR)('of a flood of fresh keys, under %s, (SEC-51)', (text) => {
    const policy = policyOf(text);
    const MAX_KEYS = 50;

    it.each<[what: string, verb: Verb, cost: number]>([
      ['used up', 'consume', 10],
      ['overdrawn', 'charge', 20],
      ['blocked', 'block', DAY],
    ])('a key that is %s knows nothing', (_what, verb, cost) => {
      const store = new MemoryStore({ clock, maxKeys: MAX_KEYS });
      const victim = { policy, key: 'victim', cost: 1 };
      one(store, verb, { ...victim, cost });

      flood(store, 3 * MAX_KEYS);

      expect(one(store, 'consume', victim)).toMatchObject({ allowed: false, remaining: 0 });
      expect(store.size).toBeLessThanOrEqual(MAX_KEYS + 1);
    });
  });

  describe('when all that it keeps is used up', () => {
    const policy = policyOf('token-bucket:2/1h');
    let store: MemoryStore;
    const of = (key: string, cost = 1): Charge => ({ policy, key, cost });

    beforeEach(() => {
      store = new MemoryStore({ clock, maxKeys: 5 });
      for (const key of ['a', 'b', 'c', 'd', 'e']) one(store, 'consume', of(key, 2));
    });

    it('counts further keys together', () => {
      const decisions = ['f', 'g', 'h', 'f'].map((key) => one(store, 'consume', of(key)));

      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, false]);
      expect(one(store, 'consume', of('a'))).toMatchObject({ allowed: false });
    });

    // User report 12.
    it('peeks at what the next call would meet', () => {
      one(store, 'consume', of('f', 2));

      const peeked = one(store, 'peek', of('g'));

      expect(peeked).toMatchObject({ allowed: false, remaining: 0 });
      expect(one(store, 'consume', of('g'))).toEqual(peeked);
    });

    it('counts those of another policy apart', () => {
      const other = policyOf('token-bucket:3/1h');
      one(store, 'consume', of('f', 2));

      expect(one(store, 'consume', { policy: other, key: 'g', cost: 3 })).toMatchObject({
        allowed: true,
      });
    });

    it('gives them places of their own once there is room', () => {
      one(store, 'consume', of('f', 2));
      clock.advance(3_600_000);

      expect(one(store, 'consume', of('g', 2))).toMatchObject({ allowed: true });
      expect(one(store, 'consume', of('h', 2))).toMatchObject({ allowed: true });
      expect(one(store, 'consume', of('g', 1))).toMatchObject({ allowed: false });
    });
  });

  // No timer holds longer than 2^31 ms.
  it.each<PolicyText>(['sliding-window-log:1/30d', 'token-bucket:1/30d', 'gcra:1/30d'])(
    'is exact over thirty days: %s (SEC-41)',
    (text) => {
      const store = new MemoryStore({ clock });
      const charge = { policy: policyOf(text), key: 'key', cost: 1 };
      const admittedAt: number[] = [];

      for (const afterMs of [0, 1, 2 ** 31, 30 * DAY - 1, 30 * DAY, 60 * DAY - 1, 60 * DAY]) {
        clock.set(START + afterMs);
        if (one(store, 'consume', charge).allowed) admittedAt.push(afterMs);
      }

      expect(admittedAt).toEqual([0, 30 * DAY, 60 * DAY]);
    },
  );

  it('stays flat however many keys come (SEC-49, SEC-50)', () => {
    const store = new MemoryStore({ clock, maxKeys: 10_000 });
    flood(store, 10_000);
    const before = heapMb();

    flood(store, 200_000);

    expect(store.size).toBe(10_000);
    expect(heapMb() - before).toBeLessThan(10);
  });
});

function timersRunning(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

/** What is in use once the garbage is gone. */
function heapMb(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

function one(store: MemoryStore, verb: Verb, charge: Charge): Decision {
  return store.decideNow({ verb, charges: [charge] })[0]!;
}

function flood(store: MemoryStore, keys: number, policy = policyOf('token-bucket:10/1h')): void {
  for (let index = 0; index < keys; index += 1) {
    one(store, 'consume', { policy, key: `fresh ${index}`, cost: 1 });
  }
}
