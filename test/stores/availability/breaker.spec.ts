import * as fc from 'fast-check';
import { Breaker, type BreakerState } from '../../../src/stores/availability/breaker.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';

const START = 1_760_000_000_000;

/** Takes nothing off the open time. */
const LONGEST = () => 0;

let clock: ManualClock;
let breaker: Breaker;

const fail = (isLasting = false): boolean => breaker.failed(clock.now(), isLasting);
const succeed = (): boolean => breaker.succeeded(clock.now());
const times = (count: number, act: () => unknown): void => {
  for (let n = 0; n < count; n++) act();
};

/** Milliseconds until a call is admitted: the probe. */
function untilProbe(): number {
  let waited = 0;
  while (!breaker.admits()) {
    clock.advance(1);
    waited++;
  }
  return waited;
}

/** One outage from opening to closing; how long it stayed open at first. */
function outage(): number {
  times(5, fail);
  const waited = untilProbe();
  succeed();
  return waited;
}

beforeEach(() => {
  clock = new ManualClock(START);
  breaker = new Breaker({ clock, random: LONGEST });
});

describe('a closed breaker', () => {
  it('admits every call', () => {
    times(100, () => expect(breaker.admits()).toBe(true));
    expect(breaker.state).toBe('closed');
  });

  it('opens at the fifth failure in a row, and says so once', () => {
    const opened = [1, 2, 3, 4, 5, 6].map(() => fail());

    expect(opened).toEqual([false, false, false, false, true, false]);
    expect(breaker.state).toBe('open');
  });

  it('begins the row again at each success', () => {
    times(3, () => {
      times(4, fail);
      succeed();
    });

    expect(breaker.state).toBe('closed');
  });

  // A failure every third call: never five in a row, and never as many as half of them.
  it.each([
    { of: 3, when: 'a third', opens: false },
    { of: 2, when: 'half', opens: true },
  ])('opens when half of twenty calls fail; when $when do: $opens', ({ of, opens }) => {
    for (let call = 1; call <= 60; call++) {
      if (call % of === 0) fail();
      else succeed();
    }

    expect(breaker.state).toBe(opens ? 'open' : 'closed');
  });

  it('takes no part of fewer than twenty calls for a sign', () => {
    times(9, () => (succeed(), fail()));
    succeed();
    expect(breaker.state).toBe('closed');

    expect(fail()).toBe(true);
  });

  it('forgets after ten seconds what failed before', () => {
    times(9, () => (succeed(), fail()));
    clock.advance(10_000);
    times(9, () => (succeed(), fail()));

    expect(breaker.state).toBe('closed');
  });

  it('opens at once for what will not heal, for half a minute', () => {
    expect(fail(true)).toBe(true);
    expect(untilProbe()).toBe(30_000);
  });
});

describe('an open breaker', () => {
  it('admits one probe after its time, and no other call until that is answered', () => {
    times(5, fail);
    clock.advance(499);
    expect(breaker.admits()).toBe(false);
    clock.advance(1);

    expect([1, 2, 3].map(() => breaker.admits())).toEqual([true, false, false]);
    expect(breaker.state).toBe('probing');
    clock.advance(60_000);
    expect(breaker.admits()).toBe(false);
  });

  it('closes when its probe is answered, and says so once', () => {
    times(5, fail);
    untilProbe();

    expect([succeed(), succeed()]).toEqual([true, false]);
    expect(breaker.admits()).toBe(true);
  });

  it('counts anew once it has closed', () => {
    outage();

    times(4, fail);
    expect(breaker.state).toBe('closed');
    expect(fail()).toBe(true);
  });

  it('stays open twice as long after each probe in vain, up to five seconds', () => {
    times(5, fail);

    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      const waited = untilProbe();
      fail();
      return waited;
    });

    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it.each([
    [0.5, 375],
    [0.999_999, 251],
  ])('takes up to half off by chance: %d', (random, waits) => {
    breaker = new Breaker({ clock, random: () => random });

    times(5, fail);

    expect(untilProbe()).toBe(waits);
  });

  // RED-42: up for a moment and down again is no reason to ask more often.
  it('backs off further while outages follow each other, and begins anew after a minute', () => {
    expect([outage(), outage(), outage()]).toEqual([500, 1_000, 2_000]);

    clock.advance(59_999);
    expect(outage()).toBe(4_000);
    clock.advance(60_000);
    expect(outage()).toBe(500);
  });

  it('lets the next call be the probe when one said nothing of the server', () => {
    times(5, fail);
    untilProbe();

    breaker.undecided(clock.now());

    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
  });

  it('takes no notice of what is undecided unless it probes', () => {
    breaker.undecided(clock.now());
    expect(breaker.state).toBe('closed');
    times(5, fail);
    breaker.undecided(clock.now());

    expect(breaker.admits()).toBe(false);
  });
});

describe('what was asked before', () => {
  it('is no sign that an open breaker should close', () => {
    times(5, fail);

    expect(succeed()).toBe(false);
    expect(breaker.state).toBe('open');
  });

  // RED-04: with a timeout longer than the open time, calls end while another one is the probe.
  it.each<[string, (askedAt: number) => unknown]>([
    ['a failure', (askedAt) => breaker.failed(askedAt)],
    ['a lasting failure', (askedAt) => breaker.failed(askedAt, true)],
    ['an answer', (askedAt) => breaker.succeeded(askedAt)],
    ['a poisoned key', (askedAt) => breaker.undecided(askedAt)],
  ])('does not pass for the result of the probe: %s', (_what, end) => {
    times(5, fail);
    untilProbe();

    end(clock.now() - 1);

    expect(breaker.state).toBe('probing');
    expect(breaker.admits()).toBe(false);
  });

  it('does not count against a server that has come back since', () => {
    times(5, fail);
    const before = clock.now();
    untilProbe();
    succeed();

    times(50, () => breaker.failed(before));

    expect(breaker.state).toBe('closed');
  });
});

// RED-35: only its clock, which is monotonic, tells how long it has been open.
it('does not look at the wall clock', () => {
  const wall = jest.spyOn(Date, 'now');
  outage();

  expect(wall).not.toHaveBeenCalled();
  wall.mockRestore();
});

describe('a new connection', () => {
  it('is looked at with the next call, and only with that (RED-25)', () => {
    fail(true);
    expect(breaker.admits()).toBe(false);

    breaker.look();

    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
    expect(succeed()).toBe(true);
  });

  it('shortens no open time of an outage: the server may go again (RED-42)', () => {
    times(5, fail);

    breaker.look();

    expect(breaker.admits()).toBe(false);
  });

  it('changes nothing while it is closed, or while a probe is under way', () => {
    breaker.look();
    expect(breaker.state).toBe('closed');
    times(5, fail);
    untilProbe();

    breaker.look();

    expect(breaker.admits()).toBe(false);
  });
});

describe('over random histories', () => {
  type Step =
    { kind: 'ask' } | { kind: 'end'; which: number; how: string } | { kind: 'wait'; ms: number };

  const event: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'ask' } as const) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        which: fc.nat(),
        how: fc.constantFrom('failed', 'failed', 'succeeded', 'lasting', 'undecided'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(3_000) }),
    },
  );

  interface Call {
    readonly askedAt: number;
    readonly isProbe: boolean;
  }

  it('one probe is under way at most, and one call is admitted an open time', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 300 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        run,
      ),
      { numRuns: 500 },
    );
  });

  function run(events: readonly Step[], random: number): void {
    clock = new ManualClock(START);
    breaker = new Breaker({ clock, random: () => random });
    const underWay: Call[] = [];
    let openedAt = -Infinity;
    let before: BreakerState = 'closed';
    // A probe before half of the shortest open time; a change by what was no probe.
    let [isEarly, isMistaken] = [false, false];
    for (const step of events) {
      if (step.kind === 'wait') clock.advance(step.ms);
      else if (step.kind === 'ask') {
        const isClosed = breaker.state === 'closed';
        if (breaker.admits()) {
          isEarly ||= !isClosed && clock.now() - openedAt < 250;
          underWay.push({ askedAt: clock.now(), isProbe: !isClosed });
        }
      } else if (underWay.length > 0) {
        const [call] = underWay.splice(step.which % underWay.length, 1);
        before = breaker.state;
        end(call!, step.how);
        // What was not decided is asked again at once.
        if (before === 'closed' && breaker.state === 'open') openedAt = clock.now();
        if (before === 'probing' && breaker.state === 'open') {
          openedAt = step.how === 'undecided' ? -Infinity : clock.now();
        }
        isMistaken ||= before !== 'closed' && breaker.state !== before && !call!.isProbe;
      }
      expect({ isEarly, isMistaken }).toEqual({ isEarly: false, isMistaken: false });
      const probes = underWay.filter(({ isProbe }) => isProbe).length;
      expect(probes).toBe(breaker.state === 'probing' ? 1 : 0);
    }
  }

  function end({ askedAt }: Call, how: string): void {
    if (how === 'succeeded') breaker.succeeded(askedAt);
    else if (how === 'undecided') breaker.undecided(askedAt);
    else breaker.failed(askedAt, how === 'lasting');
  }
});
