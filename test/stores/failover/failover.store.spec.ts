import * as fc from 'fast-check';
import { StoreAwayError } from '../../../src/stores/availability/gate.js';
import { StoreHealth } from '../../../src/stores/availability/store-health.js';
import { DeniedCacheStore } from '../../../src/stores/denied-cache.store.js';
import { FailoverStore } from '../../../src/stores/failover/failover.store.js';
import { LocalLimiter } from '../../../src/stores/failover/local-limiter.js';
import { MemoryStore } from '../../../src/stores/memory/memory.store.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type FailurePolicy,
  type Operation,
  type Verb,
} from '../../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../../support/policies.js';
import { describeConformance } from '../store-conformance.js';

const HOUR = 3_600_000;
/** The start of an hour. */
const START = 1_760_000_400_000 - (1_760_000_400_000 % HOUR);

const AMBIGUOUS = new Error('Command timed out');
const UNAVAILABLE = new Error('LOADING Redis is loading the dataset in memory');

/** A store that goes away as it is told to, and may charge all the same. */
class Shared extends RateLimitStore {
  memory: MemoryStore;
  error: Error | undefined;
  chargesAllTheSame = false;
  readonly asked: Operation[] = [];
  /** Before an operation is answered. */
  onAsked: (operation: Operation) => unknown = () => undefined;

  constructor(private readonly clock: ManualClock) {
    super();
    this.memory = new MemoryStore({ clock, source: 'redis' });
  }

  override async decide(operation: Operation): Promise<readonly Decision[]> {
    this.asked.push(operation);
    await this.onAsked(operation);
    const { error } = this;
    if (error !== undefined && !this.chargesAllTheSame) throw error;
    const decisions = await this.memory.decide(operation);
    if (error !== undefined) throw error;
    return decisions;
  }

  losesItsData(): void {
    this.memory = new MemoryStore({ clock: this.clock, source: 'redis' });
  }

  get handedBack(): number[] {
    return this.asked
      .filter(({ verb }) => verb === 'charge')
      .map(({ charges }) => charges[0]!.cost);
  }
}

const clock = new ManualClock(START);
let health: StoreHealth;
let shared: Shared;
let store: FailoverStore;
let toldKeys: number[];
let once: Charge;

function make(
  instances = 1,
  onStoreFailure: FailurePolicy = 'local',
  around = shared as RateLimitStore,
): void {
  health = new StoreHealth(clock);
  toldKeys = [];
  const fallback = new MemoryStore({ clock, source: 'fallback' });
  store = new FailoverStore({
    store: around,
    local: new LocalLimiter(fallback, instances, clock),
    onStoreFailure,
    health,
    clock,
    onHandedBack: (keys) => toldKeys.push(keys),
  });
}

const ask = (verb: Verb, ...charges: Charge[]) => store.decide({ verb, charges });
const one = async (verb: Verb, charge = once): Promise<Decision> => (await ask(verb, charge))[0]!;
const settled = () => new Promise(setImmediate);
const remainingThere = (charge = once): number =>
  shared.memory.decideNow({ verb: 'peek', charges: [charge] })[0]!.remaining;

/** Somebody asks when the store is back, and debts are handed back. */
async function back(charge = chargeOf(once.policy, newSubject())): Promise<void> {
  shared.error = undefined;
  clock.advance(1_000);
  await one('peek', charge);
  await settled();
}

async function admitted(times: number, charge = once): Promise<number> {
  let count = 0;
  for (let n = 0; n < times; n++) if ((await one('consume', charge)).allowed) count++;
  return count;
}

beforeEach(() => {
  clock.set(START);
  shared = new Shared(clock);
  make();
  once = chargeOf(policyOf('fixed-window:10/1h'), newSubject());
});

describe('around a store that is there', () => {
  describeConformance((time) => {
    const inner = new MemoryStore({ clock: time });
    const local = new LocalLimiter(new MemoryStore({ clock: time }), 1, time);
    const options = { store: inner, local, onStoreFailure: 'closed', clock: time } as const;
    return Promise.resolve({
      store: new FailoverStore({ ...options, health: new StoreHealth(time) }),
    });
  });

  // Fact 9: whoever is over the limit is not asked about again somewhere else.
  it('takes a refusal for an answer', async () => {
    expect(await admitted(20)).toBe(10);
    expect(await one('consume')).toMatchObject({ allowed: false, source: 'redis' });
    expect(health.status.failedOver).toEqual({ local: 0, open: 0, closed: 0 });
  });

  it('closes what it is around', async () => {
    const close = jest.spyOn(shared, 'close');

    await store.close();

    expect(close).toHaveBeenCalledTimes(1);
  });
});

// RED-48, RED-49, RED-50
describe('while the store is away', () => {
  const by = (onStoreFailure: FailurePolicy, more: Partial<Charge> = {}): Charge => ({
    ...chargeOf(once.policy, newSubject()),
    onStoreFailure,
    ...more,
  });

  beforeEach(() => {
    shared.error = UNAVAILABLE;
  });

  it.each<[policy: FailurePolicy, allowed: boolean, source: string]>([
    ['local', true, 'fallback'],
    ['open', true, 'open'],
    ['closed', false, 'closed'],
  ])('a charge is decided by its policy, else by that of the store: %s', async (policy, ...is) => {
    make(1, policy);
    const [allowed, source] = is;

    expect(await one('consume')).toMatchObject({ allowed, source });
    make(1, 'closed');
    expect(await one('consume', by(policy))).toMatchObject({ allowed, source });
    expect(health.status.failedOver).toEqual({ local: 0, open: 0, closed: 0, [policy]: 1 });
  });

  it.each<[what: string, others: () => Charge[], isCharged: boolean]>([
    ['an open one', () => [by('open')], true],
    ['a closed one', () => [by('closed')], false],
    ['a closed shadow', () => [by('closed', { isShadow: true })], true],
    [
      'another local one that refuses',
      () => [by('local', { policy: policyOf('gcra:0/1h') })],
      false,
    ],
    [
      'a local shadow that would refuse',
      () => [by('local', { policy: policyOf('gcra:0/1h'), isShadow: true })],
      true,
    ],
  ])('a local charge is charged with all the others or not at all: with %s', async (...row) => {
    const [, others, isCharged] = row;
    const decisions = await ask('consume', once, ...others());
    await back();

    expect(decisions[0]).toMatchObject({ allowed: true, source: 'fallback' });
    expect(remainingThere()).toBe(isCharged ? 9 : 10);
  });

  it('answers stay in the order of their charges', async () => {
    const decisions = await ask('consume', by('open'), by('local'), by('closed'), by('local'));

    const sources = decisions.map(({ source }) => source);
    expect(sources).toEqual(['open', 'fallback', 'closed', 'fallback']);
  });

  // RED-44: half of it was admitted before.
  it('this process admits its share, less what it has admitted', async () => {
    make(2);
    shared.error = undefined;
    await admitted(3);
    shared.error = UNAVAILABLE;

    expect(await admitted(20)).toBe(2);
  });
});

describe('when the store is back', () => {
  // What of each class of error it was told, after three units that were admitted here.
  it.each<[what: string, error: Error, owed: number[]]>([
    ['nothing was sent', new StoreAwayError(), [3]],
    [
      'no connection',
      new Error("Stream isn't writeable and enableOfflineQueue options is false"),
      [3],
    ],
    ['it could not serve', UNAVAILABLE, [3]],
    ['it was not allowed to', new Error('NOAUTH Authentication required.'), [3]],
    ['one key was poisoned', new Error('WRONGTYPE Operation against a key'), [3]],
    ['it may have charged', AMBIGUOUS, []],
    ['whatever was wrong', new TypeError('x is not a function'), []],
  ])('what it has surely not charged is told: %s', async (_what, error, owed) => {
    shared.error = error;
    await one('consume', { ...once, cost: 3 });

    await back();

    expect(shared.handedBack).toEqual(owed);
    expect(toldKeys).toEqual(owed.length === 0 ? [] : [1]);
  });

  it('nothing is charged twice, though it was slow and charged all the same', async () => {
    shared.error = AMBIGUOUS;
    shared.chargesAllTheSame = true;
    expect(await admitted(4)).toBe(4);

    await back();

    expect(remainingThere()).toBe(6);
  });

  // RED-45
  it.each(TEN_AN_HOUR)('counts go on as if it had never been away: %s', async (text) => {
    once = chargeOf(policyOf(text), newSubject());
    await admitted(3);
    shared.error = UNAVAILABLE;
    expect(await admitted(4)).toBe(4);
    await back();

    expect(remainingThere()).toBe(3);
    expect(await admitted(20)).toBe(3);
  });

  // RED-46: the limit, and what was admitted before and forgotten by the store.
  it('that has lost its data knows at least what was admitted meanwhile', async () => {
    await admitted(3);
    shared.error = UNAVAILABLE;
    expect(await admitted(4)).toBe(4);
    shared.losesItsData();
    await back();

    expect(await admitted(20)).toBe(6);
  });

  it('each debt is handed back once, whoever asks and how often', async () => {
    shared.error = UNAVAILABLE;
    await admitted(4);
    shared.error = undefined;
    clock.advance(1_000);

    await Promise.all(Array.from({ length: 50 }, () => one('peek')));
    await settled();
    await back();

    expect(shared.handedBack).toEqual([4]);
  });

  it('all of them are, some at a time', async () => {
    shared.error = UNAVAILABLE;
    for (let n = 0; n < 600; n++) await one('consume', chargeOf(once.policy, newSubject()));
    let most = 0;
    let underWay = 0;
    shared.onAsked = async ({ verb }) => {
      if (verb !== 'charge') return;
      most = Math.max(most, ++underWay);
      await settled();
      underWay--;
    };
    await back();
    for (let n = 0; n < 10; n++) await settled();

    expect(shared.handedBack).toHaveLength(600);
    expect(most).toBe(256);
    expect(toldKeys).toEqual([600]);
  });

  it('windows that are over are not handed back', async () => {
    shared.error = UNAVAILABLE;
    await admitted(4);
    clock.advance(HOUR);
    await back();

    expect(shared.handedBack).toEqual([]);
    expect(toldKeys).toEqual([]);
  });

  it('what was given back meanwhile is not handed back', async () => {
    shared.error = UNAVAILABLE;
    await admitted(4);
    await one('refund', { ...once, cost: 3 });
    await back();

    expect(shared.handedBack).toEqual([1]);
  });

  it.each<[what: string, error: Error, handedBack: number[], remaining: number]>([
    // Once in vain, and again when it is there.
    ['surely not charging', UNAVAILABLE, [4, 4], 6],
    ['maybe charging', AMBIGUOUS, [4], 10],
  ])('and goes away again while it is told, %s', async (_what, error, handedBack, remaining) => {
    shared.error = UNAVAILABLE;
    await admitted(4);
    shared.onAsked = ({ verb }) => {
      if (verb === 'charge') shared.error = error;
    };
    await back();
    shared.onAsked = () => undefined;
    await back();
    await back();

    expect(shared.handedBack).toEqual(handedBack);
    expect(remainingThere()).toBe(remaining);
  });

  it('and hangs while it is told, no more is lost than what was under way', async () => {
    shared.error = UNAVAILABLE;
    for (let n = 0; n < 1_000; n++) await one('consume', chargeOf(once.policy, newSubject()));
    shared.onAsked = ({ verb }) => {
      if (verb === 'charge') shared.error = AMBIGUOUS;
    };
    await back();
    expect(shared.handedBack).toHaveLength(256);
    shared.onAsked = () => undefined;
    await back();

    expect(shared.handedBack).toHaveLength(1_000);
    expect(toldKeys).toEqual([744]);
  });

  it('is told at most once a second, while a part of it stays away', async () => {
    const part = once;
    shared.error = UNAVAILABLE;
    await admitted(4);
    shared.onAsked = ({ charges }) => {
      shared.error = charges[0]!.key === part.key ? UNAVAILABLE : undefined;
    };
    const other = chargeOf(once.policy, newSubject());
    for (let tenth = 0; tenth < 30; tenth++) {
      await one('peek', other);
      await settled();
      clock.advance(100);
    }

    expect(shared.handedBack).toEqual([4, 4, 4]);
  });

  it('is not taken to be there because a refusal of its is still kept', async () => {
    make(1, 'local', new DeniedCacheStore({ store: shared, clock }));
    await one('charge', { ...once, cost: 10 });
    await one('consume');
    shared.error = UNAVAILABLE;
    await one('consume', chargeOf(once.policy, newSubject()));
    shared.asked.length = 0;
    clock.advance(500);

    expect((await one('consume')).source).toBe('denied-cache');
    await settled();

    expect(shared.asked).toEqual([]);
  });

  // The refusal that is kept was for what had been charged before it.
  it('debts end what is kept of their keys', async () => {
    make(1, 'local', new DeniedCacheStore({ store: shared, clock }));
    const dear = { ...once, cost: 8 };
    await one('consume', { ...once, cost: 5 });
    await one('consume', dear);
    shared.error = UNAVAILABLE;
    await one('charge', { ...once, cost: 2 });
    await back(once);

    expect(await one('consume', dear)).toMatchObject({ source: 'redis', remaining: 3 });
  });
});

// RED-47: local state survives, so outages on purpose open no share each.
it('outages one after the other admit no more than one of the same length', async () => {
  make(2);
  let total = 0;
  for (let n = 0; n < 10; n++) {
    shared.error = UNAVAILABLE;
    total += await admitted(5);
    // Its data is lost each time, so only this process remembers.
    shared.losesItsData();
    await back();
    shared.losesItsData();
  }

  expect(total).toBe(5);
});

// RED-44 to 47
describe('over random outages', () => {
  type Step =
    | { kind: 'ask'; verb: 'consume' | 'charge' | 'refund'; who: number; cost: number }
    | { kind: 'state'; error: Error | undefined; chargesAllTheSame: boolean }
    | { kind: 'pass'; ms: number };

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('ask' as const),
        verb: fc.constantFrom('consume', 'consume', 'consume', 'charge', 'refund'),
        who: fc.nat(2),
        cost: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('state' as const),
        error: fc.constantFrom(undefined, undefined, UNAVAILABLE, AMBIGUOUS, new StoreAwayError()),
        chargesAllTheSame: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(1, 999, 1_000, HOUR / 3),
      }),
    },
  );

  it.each(TEN_AN_HOUR)(
    'no more is handed back of a key than was admitted here and is charged nowhere: %s',
    async (text) => {
      const law = fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom(1, 3), (...given) =>
          run(policyOf(text), ...given),
        ),
        { numRuns: 60 },
      );
      await expect(law).resolves.toBeUndefined();
    },
  );

  async function run(policy: Charge['policy'], steps: readonly Step[], instances: number) {
    shared = new Shared(clock);
    make(instances);
    const who = [0, 1, 2].map(() => chargeOf(policy, newSubject()));
    const here = new Map(who.map(({ key }) => [key, 0]));
    const handedBack = new Map(who.map(({ key }) => [key, 0]));
    // Charges of the app come from here, those of the hand-back from nowhere else.
    let asking: Operation | undefined;
    shared.onAsked = (operation) => {
      if (operation === asking) return;
      const [{ key, cost }] = operation.charges as [Charge];
      expect(operation.verb).toBe('charge');
      // What surely is not charged will come again.
      const isCharged = shared.error === undefined || shared.chargesAllTheSame;
      if (isCharged) handedBack.set(key, handedBack.get(key)! + cost);
    };
    for (const each of steps) {
      if (each.kind === 'pass') clock.advance(each.ms);
      else if (each.kind === 'state') {
        shared.error = each.error;
        shared.chargesAllTheSame = each.chargesAllTheSame && each.error === AMBIGUOUS;
      } else {
        const charge = { ...who[each.who]!, cost: each.cost };
        asking = { verb: each.verb, charges: [charge] };
        const mayHaveCharged = shared.error === AMBIGUOUS;
        const [decision] = await store.decide(asking);
        if (decision!.source === 'fallback' && !mayHaveCharged && decision!.allowed) {
          if (each.verb !== 'refund') here.set(charge.key, here.get(charge.key)! + each.cost);
        }
        await settled();
      }
      for (const { key } of who) {
        expect(handedBack.get(key)).toBeLessThanOrEqual(here.get(key)!);
      }
    }
  }
});

describe('what a key was told to be while the store was away', () => {
  const away = new Error('Connection is closed.');

  it.each<FailurePolicy>(['local', 'open', 'closed'])(
    'is told to the store when it is back, under %s',
    async (onStoreFailure) => {
      make(1, onStoreFailure);
      shared.error = away;
      await one('block', { ...once, cost: HOUR });
      clock.advance(60_000);
      await back();

      expect((await one('peek')).retryAfterMs).toBe(HOUR - 61_000);
    },
  );

  it('is what it was told last, and no block that is over', async () => {
    make();
    await one('block', { ...once, cost: HOUR });
    shared.error = away;
    await one('unblock');
    const other = chargeOf(once.policy, newSubject());
    await one('block', { ...other, cost: 1_000 });
    await back();

    expect([(await one('peek')).allowed, (await one('peek', other)).allowed]).toEqual([true, true]);
  });

  it('is owed until the store has been told', async () => {
    make();
    shared.error = away;
    await one('block', { ...once, cost: HOUR });
    shared.error = undefined;
    clock.advance(1_000);
    const there = shared.decide.bind(shared);
    shared.decide = (operation) =>
      operation.verb === 'block' ? Promise.reject(away) : there(operation);
    await one('peek', chargeOf(once.policy, newSubject()));
    await settled();
    expect((await one('peek')).allowed).toBe(true);

    shared.decide = there;
    await back();
    expect((await one('peek')).allowed).toBe(false);
  });
});

it('refuses where even what stands in for the store fails (RED-51)', async () => {
  const broken = {
    now: (): number => {
      throw new Error('what time is it?');
    },
  };
  const fallback = new MemoryStore({ clock: broken, source: 'fallback' });
  store = new FailoverStore({
    store: shared,
    local: new LocalLimiter(fallback, 1, broken),
    onStoreFailure: 'local',
    health,
    clock,
  });
  shared.error = new Error('Connection is closed.');

  expect(await one('consume')).toMatchObject({ allowed: false, source: 'closed' });
  expect(health.status.failures).toMatchObject({ bug: 1 });
});
