import { ApiKeys } from '../../src/identity/api-keys.js';
import { ManualClock } from '../../src/testing/index.js';

const REAL = 'sk_live_0123456789abcdef0123456789abcdef';
const ROUNDS = 400;
const CALLS = 200;

/** Of one length each, so that hashing costs the same. */
const guesses: [what: string, guess: string][] = [
  ['begins as the real one', `${REAL.slice(0, -1)}X`],
  ['differs from the first letter', `X${REAL.slice(1)}`],
  ['shares nothing', 'X'.repeat(REAL.length)],
];

describe('an API key (SEC-62)', () => {
  const keys = new ApiKeys(
    { verify: (key) => (key === REAL ? { id: 'acme' } : null) },
    { clock: new ManualClock(), timeoutMs: 1_000, maxAgeMs: 60_000, maxKeys: 100 },
  );
  const lookUp = (key: string) => keys.holderFor({}, { 'x-api-key': key });

  it.each(guesses)('that %s is told as fast as any other', (_what, guess) => {
    const other = 'Y'.repeat(REAL.length);
    expect([lookUp(guess), lookUp(other)]).toEqual([null, null]);

    // Nothing is compared with a key that is known, so how much of it was right cannot be heard.
    expect(
      ratioOfMedians(
        () => lookUp(guess),
        () => lookUp(other),
      ),
    ).toBeLessThan(1.25);
    expect(
      ratioOfMedians(
        () => lookUp(other),
        () => lookUp(guess),
      ),
    ).toBeLessThan(1.25);
  });

  it('that is known is found by its hash, as fast as one that is nobody’s', () => {
    const guess = guesses[0]![1];
    expect([lookUp(REAL), lookUp(guess)]).toEqual([{ kind: 'api-key', id: 'acme' }, null]);

    expect(
      ratioOfMedians(
        () => lookUp(REAL),
        () => lookUp(guess),
      ),
    ).toBeLessThan(1.5);
    expect(
      ratioOfMedians(
        () => lookUp(guess),
        () => lookUp(REAL),
      ),
    ).toBeLessThan(1.5);
  });
});

/** Taken in turns, so that what else the machine does falls on both. */
function ratioOfMedians(one: () => unknown, other: () => unknown): number {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    times[0].push(timeOf(one));
    times[1].push(timeOf(other));
  }
  return median(times[0]) / median(times[1]);
}

function timeOf(call: () => unknown): number {
  const start = performance.now();
  for (let n = 0; n < CALLS; n++) call();
  return performance.now() - start;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
}
