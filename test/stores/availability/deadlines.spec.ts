import * as fc from 'fast-check';
import { monotonicClock } from '../../../src/clock.js';
import { Deadlines, Timed } from '../../../src/stores/availability/deadlines.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';
import { eventually } from '../../support/eventually.js';

const START = 1_760_000_000_000;
const TIMEOUT = 100;

class Wait extends Timed {
  constructor(
    readonly name: string,
    private readonly expired: string[],
  ) {
    super();
  }

  override expire(): void {
    this.expired.push(this.name);
  }
}

describe('deadlines', () => {
  let expired: string[];
  let deadlines: Deadlines;
  let clock: ManualClock;

  const wait = (name: string): Wait => {
    const timed = new Wait(name, expired);
    deadlines.add(timed);
    return timed;
  };
  /** Lets timers run until so many milliseconds have gone by, and what they were given as grace. */
  const pass = (ms: number): void => {
    for (let gone = 0; gone < ms; gone++) {
      clock.advance(1);
      jest.advanceTimersByTime(1);
    }
    turn();
    turn();
  };
  /** Of the event loop: a fake immediate is a fake millisecond away, in which the clock stands still. */
  const turn = (): void => {
    jest.advanceTimersByTime(1);
  };

  beforeEach(() => {
    jest.useFakeTimers();
    expired = [];
    clock = new ManualClock(START);
    deadlines = new Deadlines(TIMEOUT, clock);
  });

  afterEach(() => jest.useRealTimers());

  it('expire in the order in which they were set, each at its own time', () => {
    wait('a');
    pass(60);
    wait('b');
    wait('c');

    pass(TIMEOUT - 61);
    expect(expired).toEqual([]);
    pass(1);
    expect(expired).toEqual(['a']);
    pass(59);
    expect(expired).toEqual(['a']);
    pass(1);
    expect(expired).toEqual(['a', 'b', 'c']);
  });

  it.each(['first', 'middle', 'last'])('do not expire once removed: the %s of three', (gone) => {
    const all = ['first', 'middle', 'last'];
    const waits = new Map(all.map((name) => [name, wait(name)]));

    deadlines.remove(waits.get(gone)!);
    pass(2 * TIMEOUT);

    expect(expired).toEqual(all.filter((name) => name !== gone));
  });

  it('may be removed twice, after they expired, and by what expires before them', () => {
    const late = wait('late');
    pass(TIMEOUT);
    deadlines.remove(late);
    const once = wait('once');
    deadlines.remove(once);
    deadlines.remove(once);
    const later = new Wait('later', expired);
    const first = new (class extends Timed {
      override expire(): void {
        expired.push('first');
        deadlines.remove(later);
      }
    })();
    deadlines.add(first);
    deadlines.add(later);
    pass(2 * TIMEOUT);

    expect(expired).toEqual(['late', 'first']);
  });

  it('may be set again, and then keep nobody else', () => {
    const again = wait('again');
    wait('other');
    deadlines.remove(again);
    expect([again.earlier, again.later]).toEqual([undefined, undefined]);

    deadlines.add(again);
    pass(TIMEOUT);

    expect(expired).toEqual(['other', 'again']);
  });

  it('share one timer, and none while nobody waits', () => {
    expect(jest.getTimerCount()).toBe(0);
    for (let n = 0; n < 1_000; n++) wait(`${n}`);
    expect(jest.getTimerCount()).toBe(1);

    pass(TIMEOUT);

    expect(expired).toHaveLength(1_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('of Infinity never expire and set no timer', () => {
    deadlines = new Deadlines(Infinity, clock);
    const timed = wait('never');

    expect(jest.getTimerCount()).toBe(0);
    expect(timed.isWaiting).toBe(true);
    deadlines.remove(timed);
    expect(timed.isWaiting).toBe(false);
  });

  // RED-53: whoever waits is answered.
  it('expire at once when they are closed, and leave no timer', () => {
    wait('a');
    wait('b');

    deadlines.close();

    expect(expired).toEqual(['a', 'b']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('give two turns of grace, in which an answer is in time', () => {
    const answered = wait('answered');
    wait('silent');
    clock.advance(3 * TIMEOUT);

    jest.advanceTimersToNextTimer();
    expect(expired).toEqual([]);
    deadlines.remove(answered);
    turn();
    turn();

    expect(expired).toEqual(['silent']);
  });

  it('do not take those with them that were set while others were given grace', () => {
    wait('old');
    clock.advance(TIMEOUT);
    jest.advanceTimersToNextTimer();
    clock.advance(TIMEOUT);
    wait('new');
    turn();
    turn();

    expect(expired).toEqual(['old']);
    pass(TIMEOUT);
    expect(expired).toEqual(['old', 'new']);
  });

  it('that were set before others were given grace expire at their time all the same', () => {
    wait('first');
    clock.advance(TIMEOUT / 2);
    wait('second');
    clock.advance(TIMEOUT / 2);
    jest.advanceTimersToNextTimer();
    wait('third');
    turn();
    turn();

    pass(TIMEOUT / 2);
    expect(expired).toEqual(['first', 'second']);
  });

  it('expire as in a simple model, over random histories', () => {
    const step = fc.oneof(
      fc.constant({ kind: 'add' } as const),
      fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }),
      fc.record({ kind: fc.constant('readd' as const), which: fc.nat() }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(70) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        expired = [];
        deadlines = new Deadlines(TIMEOUT, clock);
        const all: Wait[] = [];
        // Name and time of those that wait, in the order in which they were set.
        let model: (readonly [name: string, dueAt: number])[] = [];
        const expected: string[] = [];
        for (const { kind, ...rest } of steps) {
          const which = 'which' in rest ? rest.which % Math.max(1, all.length) : 0;
          if (kind === 'add') {
            all.push(wait(`${all.length}`));
            model.push([all.at(-1)!.name, clock.now() + TIMEOUT]);
          } else if (kind === 'pass') {
            pass('ms' in rest ? rest.ms : 0);
            for (const [name, dueAt] of model) if (dueAt <= clock.now()) expected.push(name);
            model = model.filter(([, dueAt]) => dueAt > clock.now());
          } else if (all.length > 0) {
            const timed = all[which]!;
            deadlines.remove(timed);
            model = model.filter(([name]) => name !== timed.name);
            if (kind === 'readd') {
              deadlines.add(timed);
              model.push([timed.name, clock.now() + TIMEOUT]);
            }
          }
          expect(expired).toEqual(expected);
          expect(all.filter(({ isWaiting }) => isWaiting)).toHaveLength(model.length);
        }
        deadlines.close();
      }),
    );
  });
});

// A shutdown does not wait for a deadline that nobody has any more.
it('keep a process alive as long as somebody waits, and no longer', () => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const deadlines = new Deadlines(60_000, monotonicClock);
  const timed = [1, 2].map((n) => new Wait(`${n}`, []));
  const before = timers();
  const alive: number[] = [];

  for (let round = 0; round < 2; round++) {
    for (const each of timed) deadlines.add(each);
    alive.push(timers() - before);
    deadlines.remove(timed[0]!);
    alive.push(timers() - before);
    deadlines.remove(timed[1]!);
    alive.push(timers() - before);
  }
  deadlines.close();

  expect(alive).toEqual([1, 1, 0, 1, 1, 0]);
});

// Fact 6 of how timers lie: the answer came in time, and stood behind a blocked event loop.
describe('when the event loop was blocked for real', () => {
  const block = (ms: number): void => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  };

  it.each(['a timer that was due', 'an answer of the network'])(
    '%s is still in time',
    async (by) => {
      const { createServer, connect } = await import('node:net');
      const server = createServer((socket) => void socket.end('answer')).listen(0, '127.0.0.1');
      await eventually('the server listens', () => Promise.resolve(server.listening));
      const expired: string[] = [];
      const deadlines = new Deadlines(100, monotonicClock);
      const timed = new Wait('late', expired);
      const silent = new Wait('silent', expired);

      await new Promise<void>((resolve) => {
        deadlines.add(timed);
        const answered = (): void => {
          deadlines.remove(timed);
          resolve();
        };
        if (by === 'a timer that was due') setTimeout(answered, 150);
        else {
          const { port } = server.address() as { port: number };
          connect(port, '127.0.0.1').once('data', answered);
        }
        deadlines.add(silent);
        block(300);
      });
      await eventually('the silent one expires', () => Promise.resolve(expired.length > 0));
      server.close();

      expect(expired).toEqual(['silent']);
    },
  );
});
