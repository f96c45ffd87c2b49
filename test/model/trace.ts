import { randomFrom } from '../support/random.js';
import { type AlgorithmName, Model, type ModelDecision, type ModelPolicy } from './model.js';

export interface Step {
  readonly op: 'consume' | 'peek' | 'charge' | 'refund' | 'block' | 'unblock' | 'reset';
  /** An index into the trace's policies. */
  readonly policy: number;
  readonly cost: number;
  readonly durationMs: number;
  readonly t: number;
}

export interface Trace {
  readonly policies: readonly ModelPolicy[];
  readonly steps: readonly Step[];
  /** What the model says to each step; it is asked on the way, to aim at exact retry times. */
  readonly expected: readonly ModelDecision[];
}

const DAY = 86_400_000;
const START = 1_760_000_000_000;
const MAX = Number.MAX_SAFE_INTEGER;
const LOG_MAX = 2 ** 48 - 1;
const WINDOWS = [1, 2, 3, 7, 10, 97, 100, 1000, 1500, 10_000, 60_000, 3_600_000, DAY, 30 * DAY];
const LIMITS = [0, 1, 1, 2, 3, 5, 7, 10, 10, 60, 100, 999, 1000, 1_000_000];

/** One key's life under a few policies; the same seed and algorithm give the same trace. */
export function randomTrace(seed: number, algorithm: AlgorithmName): Trace {
  const random = new Random(seed);
  const windowMs = random.oneIn(4) ? random.wholeUpTo(100_000) + 1 : random.pick(WINDOWS);
  const policies = Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
    randomPolicy(random, algorithm, windowMs),
  );
  const model = new Model();
  const steps: Step[] = [];
  const expected: ModelDecision[] = [];
  let t = START + random.wholeUpTo(400 * DAY);
  for (let left = 20 + random.wholeUpTo(20); left > 0; left -= 1) {
    t = nextTime(random, { t, windowMs, answer: expected.at(-1) });
    const step = randomStep(random, policies, t);
    steps.push(step);
    expected.push(replay(model, policies, step));
  }
  return { policies, steps, expected };
}

/** Asks the model a step of a trace or a scenario. */
export function replay(model: Model, policies: readonly ModelPolicy[], step: Step): ModelDecision {
  const policy = policies[step.policy];
  if (policy === undefined) {
    throw new Error(`the trace has no policy ${step.policy}`);
  }
  switch (step.op) {
    case 'block':
      return model.block(policy, step.durationMs, step.t);
    case 'unblock':
    case 'reset':
      return model[step.op](policy, step.t);
    default:
      return model[step.op](policy, step.cost, step.t);
  }
}

function randomPolicy(random: Random, algorithm: AlgorithmName, windowMs: number): ModelPolicy {
  const largest = largestLimit(algorithm, windowMs);
  const nearLargest = largest - random.pick([0, 0, 1, 2, random.wholeUpTo(largest)]);
  const usual = random.oneIn(3) ? random.wholeUpTo(1_000_000) : random.pick(LIMITS);
  const limit = random.oneIn(6) ? nearLargest : Math.min(usual, largest);
  const burst = limit === 0 ? 0 : randomBurst(random, { algorithm, limit, windowMs });
  const maxDelayMs = random.pick([0, 1, 5000, 5000, windowMs, random.wholeUpTo(2 * windowMs)]);
  return { algorithm, limit, windowMs, burst, maxDelayMs };
}

function largestLimit(algorithm: AlgorithmName, windowMs: number): number {
  const largest = algorithm === 'sliding-window-log' ? LOG_MAX : MAX;
  return algorithm === 'sliding-window-counter' ? Math.floor(largest / windowMs) : largest;
}

interface BurstChoice {
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly windowMs: number;
}

function randomBurst(random: Random, { algorithm, limit, windowMs }: BurstChoice): number {
  const unitsPerToken = windowMs / greatestCommonDivisor(limit, windowMs);
  const largest = Math.floor(MAX / unitsPerToken);
  const usual = algorithm === 'gcra' ? Math.ceil(limit / 10) : limit;
  const burst = random.pick([
    usual,
    usual,
    1,
    random.wholeUpTo(limit),
    random.wholeUpTo(20),
    random.oneIn(3) ? largest - random.wholeUpTo(2) : usual,
  ]);
  return Math.max(1, Math.min(burst, largest));
}

function randomStep(random: Random, policies: readonly ModelPolicy[], t: number): Step {
  const op = random.pick<Step['op']>([
    ...Array<Step['op']>(24).fill('consume'),
    ...(['peek', 'peek', 'peek', 'charge', 'charge', 'charge', 'refund', 'refund'] as const),
    ...(random.oneIn(2) ? (['block', 'unblock', 'reset'] as const) : []),
  ]);
  const policy = random.wholeUpTo(policies.length - 1);
  const { algorithm, burst, limit, windowMs } = policies[policy] ?? random.pick(policies);
  const isWindow = algorithm.includes('window');
  const cost = randomCost(random, isWindow ? limit : burst);
  const takesCost = op === 'consume' || op === 'peek' || op === 'charge' || op === 'refund';
  const duration = random.pick([1, 2, windowMs, random.wholeUpTo(3 * windowMs) + 1]);
  const durationMs = op === 'block' ? duration : 0;
  return { op, policy, cost: takesCost ? cost : 0, durationMs, t };
}

function randomCost(random: Random, capacity: number): number {
  const usual = random.pick(
    [
      [0, 1, 1, 1, 1, 2, 3],
      [random.wholeUpTo(capacity), random.wholeUpTo(Math.ceil(capacity / 4))],
      [capacity - 1, capacity, capacity + 1],
    ].flat(),
  );
  const large = random.pick([MAX, MAX - 1, LOG_MAX, 2 ** 40, random.wholeUpTo(MAX)]);
  return Math.min(MAX, Math.max(0, random.oneIn(25) ? large : usual));
}

interface Moment {
  readonly t: number;
  readonly windowMs: number;
  readonly answer: ModelDecision | undefined;
}

/** Mostly onwards, often right at an edge, now and then back. */
function nextTime(random: Random, { t, windowMs, answer }: Moment): number {
  const edge = (Math.floor(t / windowMs) + random.pick([0, 1, 1, 2])) * windowMs;
  const near = random.pick([-1, 0, 0, 1]);
  const farthest = 20 * windowMs + 10_000;
  const retry = Math.min(answer?.retryAfterMs ?? 0, farthest);
  const reset = Math.min(answer?.resetAfterMs ?? 0, farthest);
  const next = random.pick(
    [
      [t, t, t + 1, t + random.wholeUpTo(Math.ceil(windowMs / 10))],
      [t + random.wholeUpTo(windowMs), t + random.wholeUpTo(windowMs)],
      [edge + near, edge + near, t + retry + near, t + retry + near, t + reset + near],
      [t + windowMs + near, t + random.wholeUpTo(4 * windowMs)],
    ].flat(),
  );
  const littleBack = t - random.pick([1, windowMs - 1, windowMs, random.wholeUpTo(windowMs)]);
  const farBack = t - windowMs * random.pick([1, 2, 11]) - random.wholeUpTo(3 * windowMs);
  const chosen = random.oneIn(14) ? littleBack : random.oneIn(40) ? farBack : next;
  return Math.max(START / 10, chosen);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

class Random {
  private readonly fraction: () => number;

  constructor(seed: number) {
    this.fraction = randomFrom(seed);
  }

  /** A whole number from 0 to `most`, both included. */
  wholeUpTo(most: number): number {
    return Math.min(most, Math.floor(this.fraction() * (most + 1)));
  }

  oneIn(times: number): boolean {
    return this.fraction() * times < 1;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.wholeUpTo(choices.length - 1)];
    if (choice === undefined) {
      throw new Error('there is nothing to pick from');
    }
    return choice;
  }
}
