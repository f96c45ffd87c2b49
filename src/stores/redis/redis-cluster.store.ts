import { mayHaveCharged } from '../availability/may-have-charged.js';
import { RateLimitStore, type Charge, type Decision, type Operation } from '../rate-limit.store.js';
import { refuses } from '../refuses.js';
import { RedisStore, type RedisStoreOptions } from './redis.store.js';
import type { ScriptRunner } from './script-runner.js';
import { withoutArguments } from './store-error.js';

/** Charges of one shard, and their places in the operation. */
interface Part {
  readonly charges: Charge[];
  readonly places: number[];
}

/**
 * Counters in a Redis Cluster. All that is counted for one client is in one shard, so most operations
 * are one atomic script. One that counts several subjects (an address and a user, or everybody) is
 * decided by a script a shard, at the same time; when a shard refuses, what others charged is given
 * back. So never too much is admitted; for the moment in between a neighbour may be refused.
 */
export class RedisClusterStore extends RateLimitStore {
  /** Each shard has its own batches and its own breaker: a script touches the keys of one slot. */
  private readonly shards = new Map<string, RedisStore>();

  constructor(
    private readonly runner: ScriptRunner,
    private readonly options: RedisStoreOptions = {},
  ) {
    super();
  }

  /** A new connection is there: each shard that is away looks with its next call. */
  look(): void {
    for (const shard of this.shards.values()) shard.look();
  }

  override async close(): Promise<void> {
    for (const shard of this.shards.values()) await shard.close();
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    const { verb, charges } = operation;
    const parts = partsOf(charges);
    if (parts.size === 1) return this.shard(tagOf(charges[0]!.key)).decide(operation);
    return this.decideApart(verb, [...parts]);
  }

  private async decideApart(
    verb: Operation['verb'],
    parts: readonly (readonly [tag: string, part: Part])[],
  ): Promise<readonly Decision[]> {
    const settled = await Promise.allSettled(
      parts.map(([tag, { charges }]) => this.shard(tag).decide({ verb, charges })),
    );
    const isRefused = settled.some(
      (result, index) =>
        result.status === 'rejected' || refuses(result.value, parts[index]![1].charges),
    );
    const decisions: Decision[] = [];
    await Promise.all(
      parts.map(async ([tag, { charges, places }], index) => {
        const result = settled[index]!;
        if (result.status === 'rejected') return;
        let decided = result.value;
        if (verb === 'consume' && isRefused && !refuses(decided, charges)) {
          decided = await this.giveBack(tag, charges, decided);
        }
        for (const [place, decision] of decided.entries()) decisions[places[place]!] = decision;
      }),
    );
    const failures = settled.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    if (failures.length === 0) return decisions;
    // The one that promises least: what one shard may have charged is not to be charged again.
    throw failures.find(mayHaveCharged) ?? failures[0];
  }

  /** Their own verdicts, with the numbers as they stand after what passed has been given back. */
  private async giveBack(
    tag: string,
    charges: readonly Charge[],
    decided: readonly Decision[],
  ): Promise<readonly Decision[]> {
    const charged = charges.filter((_charge, index) => decided[index]!.allowed);
    const refunded = await this.refund(tag, charged);
    let next = 0;
    return decided.map((decision) => {
      if (!decision.allowed) return decision;
      const { remaining, resetAfterMs } = refunded[next++]!;
      return { ...decision, remaining, resetAfterMs };
    });
  }

  /** What could not be given back stays charged, whatever the reason was: no cause says otherwise. */
  private refund(tag: string, charges: readonly Charge[]): Promise<readonly Decision[]> {
    return this.shard(tag)
      .decide({ verb: 'refund', charges })
      .catch((error: unknown) => {
        const { message } = withoutArguments(error);
        throw new Error(`what was charged could not be given back: ${message}`);
      });
  }

  private shard(tag: string): RedisStore {
    let shard = this.shards.get(tag);
    if (shard === undefined) {
      shard = new RedisStore(this.runner, this.options);
      this.shards.set(tag, shard);
    }
    return shard;
  }
}

function partsOf(charges: readonly Charge[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  for (const [place, charge] of charges.entries()) {
    const tag = tagOf(charge.key);
    const part = parts.get(tag) ?? { charges: [], places: [] };
    part.charges.push(charge);
    part.places.push(place);
    parts.set(tag, part);
  }
  return parts;
}

/** What a cluster hashes of a key to find its slot. */
function tagOf(key: string): string {
  const start = key.indexOf('{');
  const end = key.indexOf('}', start);
  return start >= 0 && end > start + 1 ? key.slice(start + 1, end) : key;
}
