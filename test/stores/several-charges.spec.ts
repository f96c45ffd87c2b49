import * as fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import type { PolicyText } from '../../src/policies/policy.js';
import { MemoryStore } from '../../src/stores/memory/memory.store.js';
import type { Charge, Operation, SharedValue, Verb } from '../../src/stores/rate-limit.store.js';
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

/** Which value counter number `index` shares; a log, which grows, stands alone. */
type Layout = (index: number, subject: string) => SharedValue | undefined;
const LOG = 1;
const layouts: [name: string, layout: Layout][] = [
  ['in values of their own', () => undefined],
  ['in one value', (field, subject) => (field === LOG ? undefined : { key: subject, field })],
  [
    'in two values in turn',
    (field, subject) =>
      field === LOG ? undefined : { key: `${subject} ${field % 2}`, field: 2 ** 32 - 1 - field },
  ],
];

describe.each(layouts)('several charges of one call, %s', (_name, layout) => {
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
        expect(await differences(life.map((step) => [step]))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it(`are decided alike where calls travel together, over ${RUNS} random lives`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 6 }), async (lives) => {
        expect(await differences(lives)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('has no key that stays, whatever was charged, blocked or given back', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (life) => {
        await redis.flushall();
        expect(await differences([life])).toEqual([]);
        const ends = await Promise.all((await redis.keys('*')).map((key) => redis.pttl(key)));
        expect(ends.filter((end) => end < 0)).toEqual([]);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  /**
   * The first step of each list comes after as long as it says; the others are asked in the same
   * moment.
   */
  async function differences(lives: readonly (readonly Step[])[]): Promise<unknown[]> {
    const clock = new ManualClock(START);
    const runner = atTime(scriptRunnerFor(redis, 'redis'), () => clock.now());
    const inMemory = new MemoryStore({ clock });
    const inRedis = new RedisStore(runner);
    const subject = newSubject();

    for (const together of lives) {
      clock.advance(together[0]!.afterMs);
      const operations = together.map((step) => operationOf(step, subject, layout));
      const memory = operations.map((operation) => inMemory.decideNow(operation).map(outcome));
      const answers = await Promise.all(operations.map((operation) => inRedis.decide(operation)));
      const shared = answers.map((decisions) => decisions.map(outcome));
      const different = operations.flatMap((operation, index) =>
        isDeepStrictEqual(shared[index], memory[index])
          ? []
          : [{ operation, memory: memory[index], shared: shared[index] }],
      );
      if (different.length > 0) return different;
    }
    return [];
  }
});

function operationOf({ verb, wanted: list }: Step, subject: string, layout: Layout): Operation {
  const charges = list.map(({ key, limit, cost, isShadow }): Charge => {
    const limits = policies[key]!;
    const policy = limits[limit % limits.length]!;
    const shared = layout(key, subject);
    return { policy, key: `${subject} ${policy.algorithm}`, shared, cost, isShadow };
  });
  return { verb, charges };
}
