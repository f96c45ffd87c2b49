import { Cluster, type Redis } from 'ioredis';
import type { Charge, Decision } from '../../src/stores/rate-limit.store.js';
import { RedisClusterStore } from '../../src/stores/redis/redis-cluster.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { chargeOf, newSubject, policyOf } from '../support/policies.js';
import { startCluster, type RedisCluster } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';
import { describeConformance } from './store-conformance.js';

// RED-16, user report 28.
describe('RedisClusterStore on three masters and three replicas (SEC-24)', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisClusterStore;

  describeConformance(async (clock) => {
    cluster = await startCluster({ masters: 3, replicas: 1 });
    client = new Cluster([...cluster.nodes]);
    store = new RedisClusterStore(scriptRunnerFor(client, 'redis'));
    return {
      store: new RedisClusterStore(atTime(scriptRunnerFor(client, 'redis'), () => clock.now())),
      close: async () => {
        client.disconnect();
        await cluster.stop();
      },
    };
  });

  const consume = (charges: readonly Charge[]): Promise<readonly Decision[]> =>
    store.decide({ verb: 'consume', charges });

  it('spreads subjects over all masters', async () => {
    const policy = policyOf('gcra:10/1h');
    await Promise.all(Array.from({ length: 100 }, () => consume([chargeOf(policy, newSubject())])));

    const sizes = await Promise.all(client.nodes('master').map((node) => node.dbsize()));

    expect(Math.min(...sizes)).toBeGreaterThan(10);
  });

  it('gives back what other shards charged when one refuses (SEC-55)', async () => {
    const policy = policyOf('token-bucket:10/1h');
    const [first, second] = [chargeOf(policy, newSubject()), chargeOf(policy, newSubject(), 3)];
    const third = chargeOf(policyOf('fixed-window:0/1h'), newSubject());

    const decisions = await consume([first, second, third]);
    const after = await store.decide({ verb: 'peek', charges: [first, second] });

    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 10],
      [true, 10],
      [false, 0],
    ]);
    expect(after.map(({ remaining }) => remaining)).toEqual([10, 10]);
  });

  it('never admits more than the limit of any shard, in a storm over several', async () => {
    const policy = policyOf('fixed-window:10/365d');
    const subjects = Array.from({ length: 4 }, newSubject);
    const calls = Array.from({ length: 400 }, (_, n) => {
      const pair = [subjects[n % 4]!, subjects[(n + 1 + (n % 3)) % 4]!];
      return consume(pair.map((subject) => chargeOf(policy, subject))).then((decisions) =>
        decisions.every(({ allowed }) => allowed) ? pair : [],
      );
    });

    const admitted = (await Promise.all(calls)).flat();
    const left = await store.decide({
      verb: 'peek',
      charges: subjects.map((subject) => chargeOf(policy, subject)),
    });

    for (const [index, subject] of subjects.entries()) {
      const count = admitted.filter((one) => one === subject).length;
      expect(count).toBeLessThanOrEqual(10);
      expect(left[index]!.remaining).toBe(10 - count);
    }
  });

  // RED-17.
  it('counts exactly while the slot of its keys migrates', async () => {
    const charges = ['fixed-window:1000/365d', 'token-bucket:1000/365d'].map((text) =>
      chargeOf(policyOf(text as 'fixed-window:1000/365d', text), 'a migrating subject'),
    );
    const slot = await client.cluster('KEYSLOT', charges[0]!.key);
    let admitted = 0;
    const migrated = new AbortController();
    const worker = async (): Promise<void> => {
      while (!migrated.signal.aborted) {
        const decisions = await consume(charges);
        if (decisions.every(({ allowed }) => allowed)) admitted++;
      }
    };
    const workers = Array.from({ length: 8 }, worker);

    await migrate(client, slot);
    migrated.abort();
    await Promise.all(workers);
    const left = await store.decide({ verb: 'peek', charges });

    expect(admitted).toBeGreaterThan(0);
    expect(left[0]!.remaining).toBe(Math.max(0, 1_000 - admitted));
    expect(admitted).toBeLessThanOrEqual(1_000);
  });
});

/** Moves a slot with its keys from the master that has it to another, as redis-cli does. */
async function migrate(client: Cluster, slot: number): Promise<void> {
  const masters = client.nodes('master');
  const ids = await Promise.all(masters.map((node) => node.cluster('MYID')));
  const counts = await Promise.all(masters.map((node) => owns(node, slot)));
  const source = counts.indexOf(true);
  const target = (source + 1) % masters.length;
  const { host, port } = masters[target]!.options;
  await masters[target]!.cluster('SETSLOT', slot, 'IMPORTING', String(ids[source]));
  await masters[source]!.cluster('SETSLOT', slot, 'MIGRATING', String(ids[target]));
  for (;;) {
    const keys = await masters[source]!.cluster('GETKEYSINSLOT', slot, 10);
    if (keys.length === 0) break;
    await masters[source]!.migrate(host!, port!, '', 0, 5_000, 'KEYS', ...keys);
  }
  for (const node of [masters[target]!, masters[source]!]) {
    await node.cluster('SETSLOT', slot, 'NODE', String(ids[target]));
  }
}

async function owns(node: Redis, slot: number): Promise<boolean> {
  const id = await node.cluster('MYID');
  const ranges = (await node.cluster('SLOTS')) as unknown as [
    number,
    number,
    [string, number, string],
  ][];
  return ranges.some(([from, to, [, , owner]]) => from <= slot && slot <= to && owner === id);
}
