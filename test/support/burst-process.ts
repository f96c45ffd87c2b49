import { Redis } from 'ioredis';
import { definePolicy } from '../../src/policies/define-policy.js';
import type { PolicyText } from '../../src/policies/policy.js';
import type { Charge } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';

/** Runs in a process of its own: as many calls at once as it is told. See burst.ts. */
export interface BurstOrder {
  readonly calls: number;
  readonly tiers: readonly { readonly policy: PolicyText; readonly key: string }[];
}

export interface BurstReport {
  readonly admitted: number;
}

const redis = new Redis(process.argv[2]!, { enableAutoPipelining: true });
const store = new RedisStore(scriptRunnerFor(redis, 'redis'));

process.on('message', (order: BurstOrder) => {
  void burst(order).then((report) => process.send!(report));
});
process.on('disconnect', () => redis.disconnect());
void redis.ping().then(() => process.send!('ready'));

async function burst({ calls, tiers }: BurstOrder): Promise<BurstReport> {
  const charges = tiers.map(({ policy, key }): Charge => ({
    policy: definePolicy('tier', policy, 'policy'),
    key,
    cost: 1,
  }));
  const decisions = await Promise.all(
    Array.from({ length: calls }, () => store.decide({ verb: 'consume', charges })),
  );
  const admitted = decisions.filter((all) => all.every(({ allowed }) => allowed)).length;
  return { admitted };
}
