import { fixedWindow } from '../scenarios/fixed-window.js';
import { gcra } from '../scenarios/gcra.js';
import { leakyBucket } from '../scenarios/leaky-bucket.js';
import { slidingWindowCounter } from '../scenarios/sliding-window-counter.js';
import { slidingWindowLog } from '../scenarios/sliding-window-log.js';
import { tokenBucket } from '../scenarios/token-bucket.js';
import { type AlgorithmName, Model, type ModelPolicy } from './model.js';
import { randomTrace, replay, type Step } from './trace.js';

const scenarios = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
};
const algorithms: readonly AlgorithmName[] = [
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'gcra',
  'leaky-bucket',
];
const SCAN_MS = 300;

describe.each(algorithms)('the model of %s', (algorithm) => {
  it.each(scenarios[algorithm])('$name', ({ policies, steps }) => {
    const model = new Model();

    const answers = steps.map((step) => ({ ...step, expect: replay(model, policies, step) }));

    expect(answers).toEqual(steps);
  });

  it('finds by halving what a scan of every millisecond finds', () => {
    const scans: Scan[] = [];
    for (let seed = 0; scans.length < 500; seed += 1) {
      scans.push(...scanTrace(seed, algorithm));
    }

    expect(scans.filter(({ said, found }) => said !== found)).toEqual([]);
  });

  it('repeats a trace from its seed', () => {
    const trace = randomTrace(7, algorithm);

    expect(randomTrace(7, algorithm)).toEqual(trace);
    expect(randomTrace(8, algorithm)).not.toEqual(trace);
  });
});

interface Scan {
  readonly seed: number;
  readonly step: Step;
  readonly said: number;
  readonly found: number;
}

/** Plays a trace and finds each short answer again by asking every millisecond up to it. */
function scanTrace(seed: number, algorithm: AlgorithmName): readonly Scan[] {
  const { policies, steps } = randomTrace(seed, algorithm);
  const model = new Model();
  const scans: Scan[] = [];
  for (const step of steps) {
    const { allowed, retryAfterMs, resetAfterMs } = replay(model, policies, step);
    const policy = policies[step.policy];
    if (step.op !== 'consume' || policy === undefined || policy.limit === 0) {
      continue;
    }
    const fullAt = (t: number): boolean =>
      model.peek(policy, 0, t).remaining === capacityOf(policy);
    const passesAt = (t: number): boolean => model.peek(policy, step.cost, t).allowed;
    if (!allowed && retryAfterMs <= SCAN_MS) {
      scans.push({ seed, step, said: retryAfterMs, found: scan(step.t, passesAt) });
    }
    if (resetAfterMs <= SCAN_MS) {
      scans.push({ seed, step, said: resetAfterMs, found: scan(step.t, fullAt) });
    }
  }
  return scans;
}

function scan(t: number, holds: (t: number) => boolean): number {
  let ms = 0;
  while (!holds(t + ms) && ms <= SCAN_MS) {
    ms += 1;
  }
  return ms;
}

function capacityOf({ algorithm, limit, burst }: ModelPolicy): number {
  return algorithm.includes('window') ? limit : burst;
}
