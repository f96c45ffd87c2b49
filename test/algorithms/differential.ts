import { Redis } from 'ioredis';
import type { AlgorithmName } from '../../src/algorithms/registry.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Decision } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import type { ModelDecision } from '../model/model.js';
import { randomTrace, type Trace } from '../model/trace.js';
import { RedisServer } from '../support/redis-server.js';
import { decideStep, namedPolicies, outcome, sameOutcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

/** How many random traces each algorithm is held to, in each engine. */
const TRACES = Number(process.env['SLUICE_TRACES'] ?? 10_000);
/** Traces that run side by side, so that the connection is kept busy. */
const AT_ONCE = 128;
const LONG_ENOUGH_MS = 600_000;

/** TypeScript, Lua on real Redis and the model answer every step alike, in every field. */
export function describeDifferential(names: readonly AlgorithmName[]): void {
  describe.each(names)('%s', (name) => {
    let server: RedisServer;
    let redis: Redis;

    beforeAll(async () => {
      server = await RedisServer.start();
      redis = new Redis(server.url);
    });

    afterAll(async () => {
      redis.disconnect();
      await server.stop();
    });

    it(
      `answers ${TRACES} random traces in TypeScript and in Lua as the model does`,
      async () => {
        const runner = scriptRunnerFor(redis, 'redis');
        const differences: unknown[] = [];
        let next = 1;
        const worker = async (): Promise<void> => {
          while (next <= TRACES && differences.length === 0) {
            differences.push(...(await differencesOf(name, next++, runner)));
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, worker));

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
