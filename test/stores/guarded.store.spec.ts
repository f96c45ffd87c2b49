import { monotonicClock } from '../../src/clock.js';
import { StoreHealth } from '../../src/stores/availability/store-health.js';
import { GuardedStore } from '../../src/stores/guarded.store.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import {
  RateLimitStore,
  type Decision,
  type Operation,
} from '../../src/stores/rate-limit.store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { eventually } from '../support/eventually.js';
import { chargeOf, newSubject, policyOf } from '../support/policies.js';
import { describeConformance } from './store-conformance.js';

const TIMEOUT_MS = 30;
const CONSUME: Operation = {
  verb: 'consume',
  charges: [chargeOf(policyOf('gcra:10/1m'), newSubject())],
};
const [DECISION] = new MemoryStore().decideNow(CONSUME) as [Decision];

type Answer = (operation: Operation) => Promise<readonly Decision[]>;

/** A store of an app, which answers as it is told to. */
class Custom extends RateLimitStore {
  asked = 0;
  isClosed = false;

  constructor(public answer: Answer) {
    super();
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    this.asked++;
    return this.answer(operation);
  }

  override close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

const answers: Answer = () => Promise.resolve([DECISION]);
const hangs: Answer = () => new Promise(() => undefined);
const rejects: Answer = () => Promise.reject(new Error('my database is away'));
const throws: Answer = () => {
  throw new Error('my database is away');
};

const clock = new ManualClock(1_760_000_000_000);
let health: StoreHealth;
let custom: Custom;
let store: GuardedStore;

function guard(answer: Answer, timeoutMs = TIMEOUT_MS, by = monotonicClock): void {
  health = new StoreHealth(by);
  custom = new Custom(answer);
  store = new GuardedStore(custom, timeoutMs, health, by);
}

const failure = async (): Promise<Error> => {
  try {
    await store.decide(CONSUME);
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
};

afterEach(() => store?.close());

describe('around a store that is well', () => {
  describeConformance((time) => {
    const inner = new MemoryStore({ clock: time });
    const guarded = new GuardedStore(inner, 10_000, new StoreHealth(monotonicClock));
    return Promise.resolve({ store: guarded, close: () => guarded.close() });
  });
});

describe('a store of the app', () => {
  it.each<[how: string, answer: Answer, message: string, kind: string]>([
    ['hangs', hangs, 'the store did not answer within 30 ms', 'ambiguous'],
    ['rejects', rejects, 'my database is away', 'ambiguous'],
    ['throws at once', throws, 'my database is away', 'ambiguous'],
    [
      'answers too few',
      () => Promise.resolve([]),
      'the store answered 0 decisions for 1 charges',
      'bug',
    ],
    [
      'answers too many',
      () => Promise.resolve([DECISION, DECISION]),
      'the store answered 2 decisions for 1 charges',
      'bug',
    ],
    [
      'answers nothing',
      () => Promise.resolve(undefined as never),
      "Cannot read properties of undefined (reading 'length')",
      'bug',
    ],
  ])('that %s fails in time, and its health says so', async (_how, answer, message, kind) => {
    guard(answer);

    expect((await failure()).message).toBe(message);
    expect(health.status.failures).toEqual({ [kind]: 1 });
  });

  it('is not asked any more after five failures, but by one probe', async () => {
    guard(rejects, TIMEOUT_MS, clock);
    for (let n = 0; n < 20; n++) await failure();
    expect(custom.asked).toBe(5);
    expect(health.status.state).toBe('down');

    clock.advance(500);
    custom.answer = answers;
    const results = await Promise.allSettled([1, 2, 3].map(() => store.decide(CONSUME)));

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(health.status.state).toBe('up');
  });

  it('that is wrong about its answers is asked on', async () => {
    guard(() => Promise.resolve([]));
    for (let n = 0; n < 20; n++) await failure();

    expect(custom.asked).toBe(20);
    expect(health.status.state).toBe('up');
  });

  it.each<[what: string, settle: 'resolve' | 'reject']>([
    ['answers', 'resolve'],
    ['fails', 'reject'],
  ])('that %s too late has failed once', async (_what, settle) => {
    let end!: () => void;
    guard(
      () =>
        new Promise((resolve, reject) => {
          end = () => (settle === 'resolve' ? resolve([DECISION]) : reject(new Error('late')));
        }),
    );
    const error = await failure();
    end();
    await new Promise(setImmediate);

    expect(error.name).toBe('DeadlineError');
    expect(health.status.failures).toEqual({ ambiguous: 1 });
  });

  it('that always answers too late is away like one that never does', async () => {
    let end!: () => void;
    guard(() => new Promise((resolve) => (end = () => resolve([DECISION]))));
    for (let n = 0; n < 5; n++) {
      await failure();
      end();
      await new Promise(setImmediate);
    }

    expect(health.status.state).toBe('down');
  });

  // Answers of before: the five calls that hung say nothing of now.
  it('whose late answers come while it is away stays away', async () => {
    const late: (() => void)[] = [];
    guard(() => new Promise((resolve) => late.push(() => resolve([DECISION]))));
    await Promise.all([1, 2, 3, 4, 5].map(failure));
    for (const answer of late) answer();
    await new Promise(setImmediate);

    expect(health.status.state).toBe('down');
    expect((await failure()).name).toBe('StoreAwayError');
  });

  it('may take for ever where no deadline is set, and its answer still counts', async () => {
    guard(answers, Infinity);

    expect(await store.decide(CONSUME)).toEqual([DECISION]);
  });

  it('is closed with it, and nobody waits any more', async () => {
    guard(hangs, 60_000);
    const waiting = failure();
    await eventually('it is asked', () => Promise.resolve(custom.asked === 1));

    await store.close();

    expect((await waiting).name).toBe('DeadlineError');
    expect(custom.isClosed).toBe(true);
  });
});
