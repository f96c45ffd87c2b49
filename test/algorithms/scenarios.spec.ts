import { algorithmNames, type AlgorithmName } from '../../src/algorithms/registry.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { RateLimitStore } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { fixedWindow } from '../scenarios/fixed-window.js';
import { gcra } from '../scenarios/gcra.js';
import { leakyBucket } from '../scenarios/leaky-bucket.js';
import type { Scenario } from '../scenarios/scenario.js';
import { slidingWindowCounter } from '../scenarios/sliding-window-counter.js';
import { slidingWindowLog } from '../scenarios/sliding-window-log.js';
import { tokenBucket } from '../scenarios/token-bucket.js';
import { newSubject } from '../support/policies.js';
import { privateRedis } from '../support/private-redis.js';
import { decideStep, namedPolicies, outcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

const scenarios: Record<AlgorithmName, readonly Scenario[]> = {
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingWindowLog,
  'sliding-window-counter': slidingWindowCounter,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
};

describe.each(algorithmNames)('%s', (algorithm) => {
  const redis = privateRedis();

  it.each(scenarios[algorithm])('$name, in memory', async (scenario) => {
    const clock = new ManualClock(0);

    const answers = await play(scenario, new MemoryStore({ clock }), clock);

    expect(answers).toEqual(scenario.steps);
  });

  it.each(scenarios[algorithm])('$name, in Redis', async (scenario) => {
    const clock = new ManualClock(0);
    const runner = atTime(scriptRunnerFor(redis.client, 'redis'), () => clock.now());

    const answers = await play(scenario, new RedisStore(runner), clock);

    expect(answers).toEqual(scenario.steps);
  });
});

async function play(
  { policies, steps }: Scenario,
  store: RateLimitStore,
  clock: ManualClock,
): Promise<unknown[]> {
  const named = namedPolicies(policies);
  const key = newSubject();
  const answers = [];
  for (const step of steps) {
    clock.set(step.t);
    const [decision] = await store.decide(decideStep(step, named, key));
    answers.push({ ...step, expect: outcome(decision!) });
  }
  return answers;
}
