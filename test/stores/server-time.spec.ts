import * as fc from 'fast-check';
import { ServerTime } from '../../src/stores/redis/server-time.js';

const START = 1_760_000_000_000;
const SECOND = 1_000;

/** A server asked at `sentAt`, which looked at its clock `there` ms later, whose answer took `back`. */
function told(time: ServerTime, offset: number, sentAt: number, there = 1, back = 1): void {
  time.learn(sentAt, sentAt + there + back, sentAt + there + offset);
}

describe('the time of a server', () => {
  it('is unknown until it has answered', () => {
    expect(new ServerTime().at(START)).toBeUndefined();
  });

  it.each([0, 5_000, -5_000, 86_400_000])(
    'is known to the length of a call: %i ahead',
    (offset) => {
      const time = new ServerTime();
      told(time, offset, START);

      // The way back, a millisecond for each of two clocks that are rounded down.
      expect(time.at(START + 2)).toBe(START + 2 + offset - 3);
    },
  );

  it('is known better after a quicker answer, and no worse after a slower one', () => {
    const time = new ServerTime();
    told(time, 500, START, 10, 90);
    const first = time.at(START + SECOND)!;
    told(time, 500, START + 900, 1, 1);
    const second = time.at(START + SECOND)!;
    told(time, 500, START + 910, 40, 50);

    expect(second - first).toBeGreaterThan(85);
    expect(time.at(START + SECOND)).toBe(second);
  });

  it('is known less and less while nothing is heard, by a fifth of a second in 1000', () => {
    const time = new ServerTime();
    told(time, 0, START);

    expect(time.at(START + 1_000 * SECOND)! - (START + 1_000 * SECOND)).toBe(-203);
  });

  it.each<[what: string, by: number]>([
    ['put forward', 60_000],
    ['put back', -60_000],
    ['put back by more than it was ever ahead', -3_600_000],
    ['that of another server', 123_456_789],
  ])('is learned again at the first answer of a clock that was %s', (_what, by) => {
    const time = new ServerTime();
    told(time, 1_000, START);
    told(time, 1_000 + by, START + 100);

    expect(time.at(START + 102)).toBe(START + 102 + 1_000 + by - 3);
  });
});

// RED-03: a script that came in time by this is one whose caller still waits.
describe('over any offset, drift and latencies', () => {
  const PPM = 1e-6;

  interface Ask {
    readonly pause: number;
    readonly there: number;
    readonly back: number;
  }

  const latency = fc.double({ min: 0, max: 300, noNaN: true });
  const asks: fc.Arbitrary<Ask[]> = fc.array(
    fc.record({
      pause: fc.oneof(
        fc.double({ min: 0, max: 50, noNaN: true }),
        fc.double({ min: 0, max: 3_600_000, noNaN: true }),
      ),
      there: latency,
      back: latency,
    }),
    { minLength: 1, maxLength: 30 },
  );
  const clocks = {
    offset: fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    drift: fc.double({ min: -100, max: 100, noNaN: true }),
    timeout: fc.integer({ min: 1, max: 60_000 }),
  };

  it('a deadline is never later by the clock of the server than by ours', () => {
    fc.assert(
      fc.property(asks, fc.record(clocks), (history, { offset, drift, timeout }) => {
        const time = new ServerTime();
        let now = START;
        const server = (at: number): number => at + offset + (at - START) * drift * PPM;
        for (const { pause, there, back } of history) {
          now += pause;
          const dueAt = Math.floor(now) + timeout;
          const deadline = time.at(dueAt);
          // The last moment at which the script finds that it is in time is before ours has come.
          const last = deadline === undefined ? -Infinity : deadline + 1;
          expect(last).toBeLessThanOrEqual(server(dueAt));
          const sentAt = Math.floor(now);
          const serverMs = Math.floor(server(now + there));
          now += there + back;
          time.learn(sentAt, Math.floor(now), serverMs);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('nor much earlier: by the fastest way back of late, what clocks drift, and rounding', () => {
    fc.assert(
      fc.property(asks, fc.record(clocks), (history, { offset, drift, timeout }) => {
        const time = new ServerTime();
        let now = START;
        const server = (at: number): number => at + offset + (at - START) * drift * PPM;
        for (const { pause, there, back } of history) {
          now += pause;
          const sentAt = Math.floor(now);
          const serverMs = Math.floor(server(now + there));
          now += there + back;
          time.learn(sentAt, Math.floor(now), serverMs);

          const dueAt = Math.floor(now) + timeout;
          const late = server(dueAt) - time.at(dueAt)!;
          expect(late).toBeLessThanOrEqual(there + back + 4 + timeout * 300 * PPM);
        }
      }),
      { numRuns: 300 },
    );
  });
});
