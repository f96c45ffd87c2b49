import { SHARD_TAGS } from './identity/shard-tags.js';
import { definePolicy } from './policies/define-policy.js';
import type { RateLimitStore } from './stores/rate-limit.store.js';
import { RedisClusterStore } from './stores/redis/redis-cluster.store.js';

/** Asks a store for what nobody is counted under; a cluster in each of its shards. Writes nothing. */
export function storeProbe(store: RateLimitStore, prefix: string): () => Promise<unknown> {
  const policy = definePolicy('probe', 'fixed-window:1/1s', 'probe');
  const tags = store instanceof RedisClusterStore ? SHARD_TAGS : SHARD_TAGS.slice(0, 1);
  const charges = tags.map((tag) => ({ policy, key: `${prefix}{${tag}}:probe`, cost: 1 }));
  return () => store.decide({ verb: 'peek', charges });
}
