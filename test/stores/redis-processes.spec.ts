import { Redis } from 'ioredis';
import type { PolicyText } from '../../src/policies/policy.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { Burst } from '../support/burst.js';
import { chargeOf, newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';

const PROCESSES = 4;
const CALLS = 500;

/** Windows of ten years: nothing comes back during a test. */
const TEN: readonly PolicyText[] = [
  'fixed-window:10/3650d',
  'sliding-window-log:10/3650d',
  'sliding-window-counter:10/3650d',
  'token-bucket:10/3650d',
  'gcra:10/3650d,burst=10',
  'leaky-bucket:10/3650d,burst=10,maxDelay=3650d',
];

// User report 7.
describe(`${CALLS} simultaneous calls from ${PROCESSES} processes (SEC-54)`, () => {
  let server: RedisServer;
  let redis: Redis;
  let store: RedisStore;
  let burst: Burst;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.url);
    store = new RedisStore(scriptRunnerFor(redis, 'redis'));
    burst = await Burst.start(server.url, PROCESSES);
  });

  afterAll(async () => {
    await burst.stop();
    redis.disconnect();
    await server.stop();
  });

  it.each(TEN)('at limit 10 admit exactly 10: %s', async (text) => {
    const charge = chargeOf(policyOf(text), newSubject());
    const tiers = [{ policy: text, key: charge.key }];

    expect(await burst.admitted({ calls: CALLS / PROCESSES, tiers })).toBe(10);
    expect(await store.decide({ verb: 'peek', charges: [charge] })).toMatchObject([
      { allowed: false, remaining: 0 },
    ]);
  });

  it.each(TEN)(
    'charge two tiers for nothing but what a third admits: %s (SEC-55)',
    async (text) => {
      const texts: PolicyText[] = ['token-bucket:1000/3650d', 'fixed-window:1000/3650d', text];
      const charges = texts.map((each) => chargeOf(policyOf(each), newSubject()));
      const tiers = texts.map((policy, index) => ({ policy, key: charges[index]!.key }));

      const admitted = await burst.admitted({ calls: CALLS / PROCESSES, tiers });
      const left = await store.decide({ verb: 'peek', charges });

      expect(admitted).toBe(10);
      expect(left.map(({ remaining }) => remaining)).toEqual([990, 990, 0]);
    },
  );
});
