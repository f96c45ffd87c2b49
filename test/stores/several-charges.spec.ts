import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import type { PolicyText } from '../../src/policies/policy.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Charge, Operation, Verb } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';
import { outcome } from '../support/steps.js';
import { atTime } from '../support/virtual-time.js';

const RUNS = 400;
const START = 1_760_000_400_000;

/** One key of each algorithm; a key may be asked under several limits of its algorithm. */
const policies = (
  [
    ['fixed-window:10/1s', 'fixed-window:4/1s'],
    ['sliding-window-log:10/1s', 'sliding-window-log:300/1s'],
    ['sliding-window-counter:10/1s', 'sliding-window-counter:7/1s'],
    ['token-bucket:10/1s', 'token-bucket:7/1s', 'token-bucket:0/1s', 'token-bucket:10/1s,burst=3'],
    ['gcra:10/1s,burst=10', 'gcra:7/1s,burst=3'],
    ['leaky-bucket:10/1s,maxDelay=300ms', 'leaky-bucket:7/1s'],
  ] satisfies PolicyText[][]
).map((texts: PolicyText[]) => texts.map((text) => policyOf(text)));

interface Step {
  readonly afterMs: number;
  readonly verb: Verb;
  readonly wanted: readonly Wanted[];
}

interface Wanted {
  readonly key: number;
  readonly limit: number;
  readonly cost: number;
  readonly isShadow: boolean;
}

const wanted = fc.record({
  key: fc.nat(policies.length - 1),
  limit: fc.nat(3),
  cost: fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(40) }),
  isShadow: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
});

const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 6, arbitrary: fc.nat(300) },
      { weight: 1, arbitrary: fc.nat(4000) },
    ),
    verb: fc.oneof(
      { weight: 6, arbitrary: fc.constant<Verb>('consume') },
      fc.constantFrom<Verb>('peek', 'charge', 'refund', 'block', 'unblock', 'reset'),
    ),
    wanted: fc.array(wanted, { minLength: 1, maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 30 },
);

describe('several charges of one call', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url, { enableAutoPipelining: true });
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it(`are decided alike in memory and in Redis, over ${RUNS} random lives`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (life) => {
        const clock = new ManualClock(START);
        const runner = atTime(scriptRunnerFor(redis, 'redis'), () => clock.now());
        const inMemory = new MemoryStore({ clock });
        const inRedis = new RedisStore(runner);
        const subject = newSubject();

        for (const step of life) {
          clock.advance(step.afterMs);
          const operation = operationOf(step, subject);
          const [memory, shared] = await Promise.all([
            inMemory.decide(operation),
            inRedis.decide(operation),
          ]);
          expect(shared.map(outcome)).toEqual(memory.map(outcome));
        }
      }),
      { numRuns: RUNS },
    );
  });
});

function operationOf({ verb, wanted: list }: Step, subject: string): Operation {
  const charges = list.map(({ key, limit, cost, isShadow }): Charge => {
    const limits = policies[key]!;
    const policy = limits[limit % limits.length]!;
    return { policy, key: `${subject} ${policy.algorithm}`, cost, isShadow };
  });
  return { verb, charges };
}
