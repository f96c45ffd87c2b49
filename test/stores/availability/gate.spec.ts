import { Gate, StoreAwayError } from '../../../src/stores/availability/gate.js';
import { StoreHealth } from '../../../src/stores/availability/store-health.js';
import {
  STORE_ERRORS,
  classifyStoreError,
  type StoreErrorKind,
} from '../../../src/stores/redis/store-error.js';
import { ManualClock } from '../../../src/testing/manual-clock.js';

const ERRORS: Record<StoreErrorKind, Error> = {
  'not-sent': new Error("Stream isn't writeable and enableOfflineQueue options is false"),
  ambiguous: new Error('Command timed out'),
  unavailable: new Error('LOADING Redis is loading the dataset in memory'),
  misconfigured: new Error('NOAUTH Authentication required.'),
  'poisoned-key': new Error('WRONGTYPE Operation against a key holding the wrong kind of value'),
  bug: new TypeError('x is not a function'),
};
const kinds = Object.keys(STORE_ERRORS) as StoreErrorKind[];

const clock = new ManualClock(1_760_000_000_000);
let health: StoreHealth;
let gate: Gate;
const isOpen = (): boolean => gate.refusal() !== undefined;
const fail = (error: unknown, times = 1): void => {
  for (let n = 0; n < times; n++) gate.failed(error, clock.now());
};

beforeEach(() => {
  health = new StoreHealth(clock);
  gate = new Gate(clock, health);
});

it.each(kinds)('the example of %s is one', (kind) => {
  expect(classifyStoreError(ERRORS[kind])).toBe(kind);
});

describe('an error is a sign that the server is away', () => {
  /** Failures until it opens; undefined when it does not. */
  const OPENS_AFTER: Record<StoreErrorKind, number | undefined> = {
    'not-sent': 5,
    ambiguous: 5,
    unavailable: 5,
    misconfigured: 1,
    'poisoned-key': undefined,
    bug: undefined,
  };

  it.each(kinds)('or not: %s', (kind) => {
    let failures = 0;
    while (!isOpen() && failures < 1_000) {
      fail(ERRORS[kind]);
      failures++;
    }

    expect(failures).toBe(OPENS_AFTER[kind] ?? 1_000);
    expect(health.status.state).toBe(OPENS_AFTER[kind] === undefined ? 'up' : 'down');
    expect(health.status.failures).toEqual({ [kind]: failures });
  });

  // One key that is nobody's state must not turn the limiter off for everybody.
  it('one poisoned key does not open it, nor hide what else fails', () => {
    fail(ERRORS.ambiguous, 2);
    fail(ERRORS['poisoned-key'], 100);
    expect(isOpen()).toBe(false);
    fail(ERRORS.ambiguous, 3);

    expect(isOpen()).toBe(true);
  });

  it('what is no error at all is ambiguous', () => {
    fail(undefined, 5);

    expect(isOpen()).toBe(true);
    expect(health.status.failures).toEqual({ ambiguous: 5 });
  });
});

describe('while it is open', () => {
  it('nothing is sent, and the same error says so each time', () => {
    fail(ERRORS.ambiguous, 5);

    expect(gate.refusal()).toBeInstanceOf(StoreAwayError);
    expect(gate.refusal()).toBe(gate.refusal());
    expect(gate.refusal()!.stack).toBe('StoreAwayError: the store is away');
  });

  it('its status says why, with no argument of a command', () => {
    fail(new Error('LOADING x, with args beginning with: a-key'), 5);

    expect(health.status).toMatchObject({
      state: 'down',
      reason: { kind: 'unavailable', message: 'LOADING x' },
    });
  });

  it.each<[what: string, end: () => void, state: string, isAdmitted: boolean]>([
    ['an answer', () => gate.succeeded(clock.now()), 'up', true],
    ['a poisoned key', () => fail(ERRORS['poisoned-key']), 'down', true],
    ['a call that was not sent', () => gate.unsent(clock.now()), 'down', true],
    ['a failure', () => fail(ERRORS.ambiguous), 'down', false],
    ['a late answer', () => gate.succeeded(clock.now() - 600), 'down', false],
    ['a late failure', () => gate.failed(ERRORS.ambiguous, clock.now() - 600), 'down', false],
  ])('the probe ends with %s', (_what, end, state, isAdmitted) => {
    fail(ERRORS.ambiguous, 5);
    clock.advance(500);
    expect([isOpen(), isOpen()]).toEqual([false, true]);

    end();

    expect(health.status.state).toBe(state);
    expect(isOpen()).toBe(!isAdmitted);
  });
});

it('gates of one store are up, degraded and down together', () => {
  const other = new Gate(clock, health);
  const states: string[] = [];
  const note = (): void => void states.push(health.status.state);

  note();
  fail(ERRORS.ambiguous, 5);
  note();
  other.failed(ERRORS.misconfigured, clock.now());
  note();
  clock.advance(500);
  gate.refusal();
  gate.succeeded(clock.now());
  note();

  expect(states).toEqual(['up', 'degraded', 'down', 'degraded']);
});
