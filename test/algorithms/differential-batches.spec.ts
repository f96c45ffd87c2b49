import { Redis } from 'ioredis';
import { algorithmNames, type AlgorithmName } from '../../src/algorithms/registry.js';
import { DECIDE_SCRIPT } from '../../src/stores/redis/script.generated.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { decode, encode } from '../../src/stores/redis/wire.js';
import { Model } from '../model/model.js';
import { randomTrace, replay } from '../model/trace.js';
import { RedisServer } from '../support/redis-server.js';
import { decideStep, namedPolicies, outcome, sameOutcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

const TRACES = Number(process.env['SLUICE_TRACES'] ?? 10_000) / 5;
/** Operations on one key in one script. */
const BATCH = 8;

describe.each(algorithmNames)('%s in batches', (name) => {
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

  it(`answers ${TRACES} random traces as the model does, one key ${BATCH} times in a script`, async () => {
    const runner = scriptRunnerFor(redis, 'redis');
    const differences: unknown[] = [];
    let next = 1;
    const worker = async (): Promise<void> => {
      while (next <= TRACES && differences.length === 0) {
        differences.push(...(await differencesOf(name, next++, runner)));
      }
    };
    await Promise.all(Array.from({ length: 64 }, worker));

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
    const { keys, args } = encode(operations);
    const reply = await atTime(runner, () => t).run(DECIDE_SCRIPT, keys, args);
    for (const [index, decided] of decode(operations, reply).entries()) {
      const expected = replay(model, trace.policies, steps[index]!);
      const answer = decided instanceof Error ? decided : outcome(decided[0]!);
      if (answer instanceof Error || !sameOutcome(answer, expected)) {
        return [{ seed, step: steps[index], place: from + index, answer, expected }];
      }
    }
  }
  return [];
}
