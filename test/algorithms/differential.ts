import type { AlgorithmName } from '../../src/algorithms/registry.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Decision } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import type { ModelDecision } from '../model/model.js';
import { randomTrace, type Trace } from '../model/trace.js';
import { privateRedis } from '../support/private-redis.js';
import { TRACES, overSeeds } from './seeds.js';
import { decideStep, namedPolicies, outcome, sameOutcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

const LONG_ENOUGH_MS = 600_000;

/** TypeScript, Lua on real Redis and the model answer every step alike, in every field. */
export function describeDifferential(names: readonly AlgorithmName[]): void {
  describe.each(names)('%s', (name) => {
    const redis = privateRedis();

    it(
      `answers ${TRACES} random traces in TypeScript and in Lua as the model does`,
      async () => {
        const runner = scriptRunnerFor(redis.client, 'redis');
        const differences = await overSeeds(TRACES, (seed) => differencesOf(name, seed, runner));

        expect(differences).toEqual([]);
      },
      LONG_ENOUGH_MS,
    );
  });
}

/** The first step of a trace on which an engine differs from the model, if there is one. */
async function differencesOf(
  name: AlgorithmName,
  seed: number,
  runner: ScriptRunner,
): Promise<unknown[]> {
  const trace = randomTrace(seed, name);
  const key = `${name}:${seed}`;
  const policies = namedPolicies(trace.policies);
  const clock = new ManualClock(0);
  const memory = new MemoryStore({ clock });
  const redis = new RedisStore(atTime(runner, () => clock.now()));
  for (const [index, step] of trace.steps.entries()) {
    clock.set(step.t);
    const operation = decideStep(step, policies, key);
    const inLua = redis.decide(operation);
    for (const [engine, decisions] of [
      ['TypeScript', memory.decideNow(operation)],
      ['Lua', await inLua],
    ] as const) {
      const difference = compare(decisions, trace, index);
      if (difference !== undefined) return [{ engine, seed, ...difference }];
    }
  }
  return [];
}

function compare(
  [decision]: readonly Decision[],
  { policies, steps, expected }: Trace,
  index: number,
): object | undefined {
  const answer: ModelDecision = outcome(decision!);
  if (sameOutcome(answer, expected[index]!)) return undefined;
  return { index, step: steps[index], policies, answer, expected: expected[index] };
}
