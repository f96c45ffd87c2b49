import * as fc from 'fast-check';
import { Deadlines } from '../../src/stores/availability/deadlines.js';
import { Gate } from '../../src/stores/availability/gate.js';
import { StoreHealth } from '../../src/stores/availability/store-health.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Charge, Decision } from '../../src/stores/rate-limit.store.js';
import { Batches } from '../../src/stores/redis/batches.js';
import { planOf, type Plan } from '../../src/stores/redis/plan.js';
import type { Outcome } from '../../src/stores/redis/wire.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { policyOf } from '../support/policies.js';

const START = 1_760_000_000_000;
const POLICY = policyOf('gcra:10/1m');
const [ANY] = new MemoryStore().decideNow({
  verb: 'peek',
  charges: [{ policy: POLICY, key: 'any', cost: 1 }],
}) as [Decision];

/** One script under way. */
interface Sent {
  readonly names: string[];
  readonly charges: number;
  readonly askedAt: number;
  readonly answer: (bad?: readonly string[]) => void;
  readonly fail: () => void;
}

let clock: ManualClock;
let health: StoreHealth;
let gate: Gate;
let deadlines: Deadlines;
let batches: Batches;
let sent: Sent[];
/** What became of each operation, by name. */
let ends: Map<string, string>;

function make(timeoutMs = 100): void {
  clock = new ManualClock(START);
  health = new StoreHealth(clock);
  gate = new Gate(clock, health);
  deadlines = new Deadlines(timeoutMs, clock);
  sent = [];
  ends = new Map();
  batches = new Batches({ send, clock, deadlines, gate });
}

function send(plans: readonly Plan[], askedAt: number): Promise<readonly Outcome[]> {
  // What is sent is not changed any more.
  const asked = [...plans];
  const names = asked.map(({ charges }) => charges[0]!.key);
  const charges = asked.reduce((sum, plan) => sum + plan.charges.length, 0);
  return new Promise((resolve, reject) => {
    sent.push({
      names,
      charges,
      askedAt,
      answer: (bad = []) => resolve(names.map((name) => outcomeOf(name, bad))),
      fail: () => reject(new Error('Command timed out')),
    });
  });
}

function outcomeOf(name: string, bad: readonly string[]): Outcome {
  return bad.includes(name) ? new Error(`bad ${name}`) : [{ ...ANY, policy: name }];
}

/** Each decision names its operation, so a mix-up shows. */
function ask(name: string, charges = 1, shared?: string): void {
  const operation = {
    verb: 'consume',
    charges: Array.from({ length: charges }, (_, index): Charge => {
      const key = index === 0 ? name : `${name} ${index}`;
      const value = shared === undefined ? undefined : { key: shared, field: index };
      return { policy: POLICY, key, shared: value, cost: 1 };
    }),
  } as const;
  batches.decide(planOf(operation)).then(
    ([decision]) => ends.set(name, `decided ${decision!.policy}`),
    (error: Error) => ends.set(name, error.name === 'Error' ? error.message : error.name),
  );
}

const askAll = (...names: string[]): void => names.forEach((name) => ask(name));
const namesSent = (): string[][] => sent.map(({ names }) => names);

/** Of the event loop, as many as an answer and what it leads to may take. */
async function turns(): Promise<void> {
  for (let n = 0; n < 4; n++) await new Promise(setImmediate);
}

async function pass(ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone++) {
    clock.advance(1);
    jest.advanceTimersByTime(1);
    await turns();
  }
}

/** Two scripts are under way, and nothing else waits. */
async function busy(): Promise<void> {
  ask('first');
  ask('second');
  await turns();
  expect(namesSent()).toEqual([['first'], ['second']]);
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  make();
});

afterEach(() => jest.useRealTimers());

describe('an operation', () => {
  it('is sent at once when nothing is under way', () => {
    ask('a');

    expect(namesSent()).toEqual([['a']]);
    expect(sent[0]!.askedAt).toBe(START);
  });

  it('travels with those of its turn while a script is under way', async () => {
    ask('a');
    askAll('b', 'c');
    await Promise.resolve();
    ask('d');
    expect(namesSent()).toEqual([['a']]);

    await turns();

    expect(namesSent()).toEqual([['a'], ['b', 'c', 'd']]);
  });

  it('waits for its turn to end after several were answered together', async () => {
    askAll('a', 'b', 'c');
    await turns();
    sent[0]!.answer();
    sent[1]!.answer();
    await Promise.resolve();
    await Promise.resolve();
    askAll('d', 'e');
    expect(sent).toHaveLength(2);

    await turns();
    expect(namesSent().slice(2)).toEqual([['d', 'e']]);
  });

  it('asked again and again alone is never held', async () => {
    for (const name of ['a', 'b', 'c']) {
      ask(name);
      expect(sent.at(-1)!.names).toEqual([name]);
      sent.at(-1)!.answer();
      await turns();
    }
  });

  it('is held while two scripts are under way, until one is answered', async () => {
    await busy();
    askAll('a', 'b');
    await turns();
    expect(sent).toHaveLength(2);

    sent[1]!.answer();
    await turns();

    expect(namesSent().slice(2)).toEqual([['a', 'b']]);
  });

  it('is held no longer than 5 ms', async () => {
    await busy();
    ask('a');
    await pass(3);
    ask('b');
    await pass(1);
    expect(sent).toHaveLength(2);

    await pass(1);

    expect(namesSent().slice(2)).toEqual([['a', 'b']]);
    expect(sent[2]!.askedAt).toBe(START);
  });

  it('is held for its own 5 ms, not for what is left of those of another', async () => {
    await busy();
    ask('a');
    await pass(3);
    sent[0]!.answer();
    await turns();
    ask('b');
    await pass(4);
    expect(namesSent().slice(2)).toEqual([['a']]);

    await pass(1);

    expect(namesSent().slice(2)).toEqual([['a'], ['b']]);
  });

  it('is not sent twice when an answer and the end of the hold come together', async () => {
    await busy();
    ask('a');
    await pass(4);
    sent[0]!.answer();
    clock.advance(1);
    jest.advanceTimersByTime(1);
    await turns();
    await pass(10);

    expect(namesSent().slice(2)).toEqual([['a']]);
  });

  it('that makes 64 values full is sent with them, whatever is under way', async () => {
    await busy();
    for (let n = 0; n < 21; n++) ask(`three ${n}`, 3);
    expect(sent).toHaveLength(2);
    ask('one');
    ask('next');

    expect(sent.map(({ charges }) => charges)).toEqual([1, 1, 64]);
    await pass(5);
    expect(namesSent().at(-1)).toEqual(['next']);
  });

  it('weighs as many values as it reads, however many counters share one', async () => {
    await busy();
    for (let n = 0; n < 63; n++) ask(`client ${n}`, 3, `value ${n}`);
    expect(sent).toHaveLength(2);
    ask('the last', 3, 'value 63');

    expect(sent.map(({ charges }) => charges)).toEqual([1, 1, 192]);
  });

  it('stays whole in a batch however many charges it has', async () => {
    await busy();
    for (let n = 0; n < 63; n++) ask(`${n}`);
    ask('ten', 10);

    expect(sent.at(-1)!.charges).toBe(73);
  });
});

describe('what becomes of it', () => {
  it('is its own answer, in the order in which they were asked', async () => {
    ask('a');
    askAll('b', 'c', 'd');
    await turns();
    sent[1]!.answer();
    sent[0]!.answer();
    await turns();

    expect([...ends]).toEqual(['b', 'c', 'd', 'a'].map((name) => [name, `decided ${name}`]));
  });

  it('is not what is wrong with another', async () => {
    ask('a');
    askAll('b', 'bad', 'c');
    await turns();
    sent[1]!.answer(['bad']);
    await turns();

    expect(Object.fromEntries(ends)).toEqual({ b: 'decided b', bad: 'bad bad', c: 'decided c' });
    expect(health.status.failures).toEqual({});
  });

  it('is one failure for all of a batch that fails', async () => {
    ask('a');
    askAll('b', 'c');
    await turns();
    sent[1]!.fail();
    await turns();

    expect(Object.fromEntries(ends)).toEqual({ b: 'Command timed out', c: 'Command timed out' });
    expect(health.status.failures).toEqual({ ambiguous: 1 });
  });
});

describe('the deadline', () => {
  it('passes for each at its own time, and counts once for the script', async () => {
    await busy();
    ask('a');
    await pass(4);
    ask('b');
    await pass(1);
    expect(namesSent()[2]).toEqual(['a', 'b']);
    sent[0]!.answer();
    sent[1]!.answer();

    await pass(95);
    expect([ends.get('a'), ends.get('b')]).toEqual(['DeadlineError', undefined]);
    await pass(4);

    expect(ends.get('b')).toBe('DeadlineError');
    expect(health.status.failures).toEqual({ ambiguous: 1 });
  });

  it('of one leaves the others of its script their late answers', async () => {
    await busy();
    ask('a');
    await pass(4);
    ask('b');
    await pass(96);
    sent[2]!.answer();
    await turns();

    expect([ends.get('a'), ends.get('b')]).toEqual(['DeadlineError', 'decided b']);
    expect(health.status.failures).toEqual({ ambiguous: 3 });
  });

  it('of what is not sent yet keeps it from being sent', async () => {
    make(3);
    await busy();
    clock.advance(2);
    ask('a');
    clock.advance(2);
    ask('b');
    clock.advance(1);
    jest.advanceTimersByTime(3);
    await turns();

    expect(ends.get('a')).toBe('DeadlineError');
    expect(namesSent().slice(2)).toEqual([['b']]);
    expect(sent[2]!.askedAt).toBe(START + 4);
  });

  it('of what is not sent yet makes room for others', async () => {
    make(3);
    askAll('first', 'second', 'third');
    await turns();
    for (let n = 0; n < 60; n++) ask(`${n}`);
    clock.advance(1);
    ask('a');
    clock.advance(2);
    jest.advanceTimersByTime(3);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(ends.get('59')).toBe('DeadlineError');

    for (let n = 0; n < 10; n++) ask(`more ${n}`);

    expect(namesSent().flat()).not.toContain('more 0');
    await turns();
    expect(namesSent()[2]).toHaveLength(11);
  });

  it('frees the place of a script that hangs', async () => {
    await busy();
    await pass(100);

    ask('a');

    expect(namesSent().slice(2)).toEqual([['a']]);
  });

  // Fact 6: the loop was blocked while one was held. Who asks after that has a deadline of its own.
  it('is not that of one who was held through a blocked event loop', async () => {
    await busy();
    ask('held');
    clock.advance(300);
    ask('after');
    jest.advanceTimersByTime(5);
    await turns();

    const { askedAt } = sent.find(({ names }) => names.includes('after'))!;
    expect(askedAt).toBe(START + 300);
  });

  it('of a probe that was never sent lets the next call be the probe', async () => {
    make(3);
    await busy();
    for (let n = 0; n < 5; n++) gate.failed(new Error('LOADING'), clock.now());
    clock.advance(500);
    expect(gate.refusal()).toBeUndefined();
    // The two under way have expired with it, which says nothing of the probe.
    ask('probe');
    clock.advance(3);
    jest.advanceTimersByTime(3);
    await turns();

    expect(ends.get('probe')).toBe('DeadlineError');
    expect(namesSent().flat()).not.toContain('probe');
    expect([gate.refusal()?.name, gate.refusal()?.name]).toEqual([undefined, 'StoreAwayError']);
  });
});

describe('over random answers', () => {
  type Step =
    | { kind: 'ask'; count: number }
    | { kind: 'answer' | 'fail'; which: number }
    | { kind: 'pass'; ms: number }
    | { kind: 'turn' };

  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), count: fc.integer({ min: 1, max: 70 }) }),
    fc.record({ kind: fc.constantFrom('answer', 'fail'), which: fc.nat() }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 30 }) }),
    fc.constant({ kind: 'turn' } as const),
  );

  it('each is sent once in order or not at all, each ends once, and no script under way is forgotten', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.constantFrom(3, 20), run),
      { numRuns: 60 },
    );
  });

  async function run(steps: readonly Step[], timeoutMs: number): Promise<void> {
    make(timeoutMs);
    let asked = 0;
    let open: Sent[] = [];
    let seen = 0;
    const note = (): void => {
      open = [...open, ...sent.slice(seen)];
      seen = sent.length;
    };
    for (const each of steps) {
      note();
      if (each.kind === 'ask') for (let n = 0; n < each.count; n++) ask(`${asked++}`);
      else if (each.kind === 'pass') await pass(each.ms);
      else if (each.kind === 'turn') await turns();
      else if (open.length > 0) {
        const [script] = open.splice(each.which % open.length, 1);
        if (each.kind === 'answer') script!.answer();
        else script!.fail();
      }
    }
    await pass(timeoutMs + 10);

    const order = namesSent().flat().map(Number);
    expect(order).toEqual([...new Set(order)].toSorted((a, b) => a - b));
    expect(ends.size).toBe(asked);
    for (const [name, end] of ends) {
      const wasSent = order.includes(Number(name));
      const ofSent = [`decided ${name}`, 'Command timed out', 'DeadlineError'];
      expect(wasSent ? ofSent : ['DeadlineError']).toContain(end);
    }
    expect(Math.max(0, ...sent.map(({ charges }) => charges))).toBeLessThanOrEqual(64);
    // Nothing is under way, so nothing is waited for.
    const before = sent.length;
    ask('last');
    expect(sent.length).toBe(before + 1);
    batches.close();
    deadlines.close();
  }
});
