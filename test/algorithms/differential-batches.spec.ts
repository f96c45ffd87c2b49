import { algorithmNames, type AlgorithmName } from '../../src/algorithms/registry.js';
import { DECIDE_SCRIPT } from '../../src/stores/redis/script.generated.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { planOf } from '../../src/stores/redis/plan.js';
import { decode, encode } from '../../src/stores/redis/wire.js';
import { Model } from '../model/model.js';
import { randomTrace, replay } from '../model/trace.js';
import { privateRedis } from '../support/private-redis.js';
import { TRACES, overSeeds } from './seeds.js';
import { decideStep, namedPolicies, outcome, sameOutcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

const FEWER = TRACES / 5;
/** Operations on one key in one script. */
const BATCH = 8;

describe.each(algorithmNames)('%s in batches', (name) => {
  const redis = privateRedis();

  it(`answers ${FEWER} random traces as the model does, one key ${BATCH} times in a script`, async () => {
    const runner = scriptRunnerFor(redis.client, 'redis');
    const differences = await overSeeds(FEWER, (seed) => differencesOf(name, seed, runner));

    expect(differences).toEqual([]);
  }, 300_000);
});

async function differencesOf(
  name: AlgorithmName,
  seed: number,
  runner: ScriptRunner,
): Promise<unknown[]> {
  const trace = randomTrace(seed, name);
  const policies = namedPolicies(trace.policies);
  const model = new Model();
  for (let from = 0; from < trace.steps.length; from += BATCH) {
    const { t } = trace.steps[from]!;
    const steps = trace.steps.slice(from, from + BATCH).map((step) => ({ ...step, t }));
    const operations = steps.map((step) => decideStep(step, policies, `batch:${name}:${seed}`));
    const plans = operations.map(planOf);
    const { keys, args } = encode(plans);
    const reply = await atTime(runner, () => t).run(DECIDE_SCRIPT, keys, args);
    for (const [index, decided] of decode(plans, reply).outcomes!.entries()) {
      const expected = replay(model, trace.policies, steps[index]!);
      const answer = decided instanceof Error ? decided : outcome(decided[0]!);
      if (answer instanceof Error || !sameOutcome(answer, expected)) {
        return [{ seed, step: steps[index], place: from + index, answer, expected }];
      }
    }
  }
  return [];
}
