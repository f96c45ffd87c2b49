import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { connect, untilReady, type OwnedClient } from '../../src/stores/redis/connect.js';
import { RedisClusterStore } from '../../src/stores/redis/redis-cluster.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';
import { DECIDE_SCRIPT } from '../../src/stores/redis/script.generated.js';
import type { RateLimitStore, Verb } from '../../src/stores/rate-limit.store.js';
import { chargeOf, newSubject, policyOf, TEN_AN_HOUR } from '../support/policies.js';
import { RedisServer, startCluster } from '../support/redis-server.js';
import { atTime } from '../support/virtual-time.js';
import { describeConformance } from './store-conformance.js';

// RED-09, RED-26: what docs/operations.md tells operators to write, word by word.
const docs = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');

const [documented, ofCluster] = [...docs.matchAll(/^ACL SETUSER (\S+) (.*)$/gm)].map(
  ([, , rules = '']) => rules.replace('~rl{*', '~test{*').split(' '),
) as [string[], string[]];
const password = documented.find((rule) => rule.startsWith('>'))!.slice(1);

const VERBS: readonly Verb[] = ['consume', 'consume', 'peek', 'charge', 'refund', 'block', 'peek'];

/** Every verb on every algorithm, with refusals, at real time. */
async function exercise(store: RateLimitStore): Promise<void> {
  for (const text of TEN_AN_HOUR) {
    const charge = chargeOf(policyOf(text), newSubject(), 6);
    for (const verb of [...VERBS, 'unblock', 'reset'] as const) {
      await store.decide({ verb, charges: [charge] });
    }
  }
}

async function serverWith(
  rules: readonly string[],
): Promise<{ server: RedisServer; admin: Redis }> {
  const server = await RedisServer.start();
  const admin = new Redis(server.url);
  await admin.call('ACL', 'SETUSER', 'limiter', ...rules);
  return { server, admin };
}

const asLimiter = async ({ host, port }: RedisServer): Promise<OwnedClient> => {
  const client = await connect({ host, port, username: 'limiter', password }, 'redis', 1_000);
  client.on('error', () => undefined);
  await untilReady(client, 2_000);
  return client;
};

describe('RedisStore as the documented user (SEC-68)', () => {
  describeConformance(async (clock) => {
    const { server, admin } = await serverWith(documented);
    const client = await asLimiter(server);
    return {
      store: new RedisStore(atTime(scriptRunnerFor(client, 'redis'), () => clock.now())),
      close: async () => {
        client.disconnect();
        admin.disconnect();
        await server.stop();
      },
    };
  });
});

describe('the documented user', () => {
  let server: RedisServer;
  let admin: Redis;
  const clients: OwnedClient[] = [];

  const storeAs = async (rules: readonly string[]): Promise<RedisStore> => {
    await admin.call('ACL', 'SETUSER', 'limiter', 'reset', ...rules);
    const client = await asLimiter(server);
    clients.push(client);
    return new RedisStore(scriptRunnerFor(client, 'redis'));
  };

  beforeAll(async () => {
    ({ server, admin } = await serverWith(documented));
  });

  beforeEach(() => admin.script('FLUSH'));

  afterEach(() => clients.splice(0).forEach((client) => client.disconnect()));

  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  it('may do all that deciding takes', async () => {
    await expect(storeAs(documented).then(exercise)).resolves.toBeUndefined();
  });

  const commands = documented.filter((rule) => rule.startsWith('+') && rule !== '+info');

  it.each(commands)('could not do it without %s', async (command) => {
    const rules = documented.filter((rule) => rule !== command);

    await expect(storeAs(rules).then(exercise)).rejects.toThrow(/^NOPERM|^ERR The user executing/);
  });

  it('may touch no other key', async () => {
    const rules = documented.map((rule) => (rule.startsWith('~') ? '~other{*' : rule));

    await expect(storeAs(rules).then(exercise)).rejects.toThrow(/^NOPERM/);
  });

  it('needs no EVAL where an operator has loaded the script, and cannot do without', async () => {
    const rules = documented.filter((rule) => rule !== '+eval');
    await expect(storeAs(rules).then(exercise)).rejects.toThrow(/^NOPERM/);

    const sha = await admin.script('LOAD', DECIDE_SCRIPT.lua);

    expect(sha).toBe(DECIDE_SCRIPT.sha);
    // Its breaker stays open for a while: what an operator has to change heals no sooner.
    await expect(exercise(await storeAs(rules))).resolves.toBeUndefined();
  });
});

it('RedisClusterStore works as the documented user of a cluster', async () => {
  const cluster = await startCluster({ masters: 3 });
  for (const { url } of cluster.masters) {
    const admin = new Redis(url);
    await admin.call('ACL', 'SETUSER', 'limiter', ...ofCluster);
    await admin.call('ACL', 'SETUSER', 'default', 'off');
    admin.disconnect();
  }
  const redisOptions = { username: 'limiter', password };
  const source = { cluster: cluster.nodes, options: { redisOptions } };
  const client = await connect(source, 'redis', 1_000);

  await untilReady(client, 2_000);
  await expect(
    exercise(new RedisClusterStore(scriptRunnerFor(client, 'redis'))),
  ).resolves.toBeUndefined();

  client.disconnect();
  await cluster.stop();
}, 60_000);
