import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Charge, Decision, Verb } from '../../src/stores/rate-limit.store.js';
import { RedisStore } from '../../src/stores/redis/redis.store.js';
import { scriptRunnerFor, type ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { TEN_AN_HOUR, chargeOf, newSubject, policyOf } from '../support/policies.js';
import { RedisServer } from '../support/redis-server.js';

const TIMEOUT_MS = 250;

let server: RedisServer;
let client: Redis;
/** Asks without a deadline what has become of it all. */
let witness: RedisStore;
const clients: Redis[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
  client = await connect(server.url);
  witness = new RedisStore(scriptRunnerFor(client, 'redis'));
});

afterEach(() => {
  for (const each of clients.splice(1)) each.disconnect();
});

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Sends everything that it is given, whenever it can: the worst case of a client. */
async function connect(url: string): Promise<Redis> {
  const connected = new Redis(url);
  connected.on('error', () => undefined);
  clients.push(connected);
  await connected.ping();
  return connected;
}

async function one(store: RedisStore, verb: Verb, charge: Charge): Promise<Decision> {
  return (await store.decide({ verb, charges: [charge] }))[0]!;
}

/** A store that knows the server's clock. */
async function acquainted(runner: ScriptRunner, timeoutMs = TIMEOUT_MS): Promise<RedisStore> {
  const store = new RedisStore(runner, { timeoutMs });
  await one(store, 'peek', chargeOf(policyOf('gcra:10/1h'), newSubject()));
  return store;
}

/** Redis runs what one connection sends in its order. */
async function allRun(runner: ScriptRunner): Promise<void> {
  const lua = 'return 1';
  await runner.run({ sha: createHash('sha1').update(lua).digest('hex'), lua }, [], []);
}

const outcomeOf = (asked: Promise<Decision>): Promise<string> =>
  asked.then(
    ({ allowed }) => (allowed ? 'allowed' : 'refused'),
    (error: Error) => error.name,
  );

const VERBS: readonly Verb[] = ['consume', 'charge', 'refund', 'block', 'unblock', 'reset'];
const VERBS_ON_ALL = TEN_AN_HOUR.flatMap((text) => VERBS.map((verb) => [verb, text] as const));

// RED-03, fact 5: what was given up is not charged behind its caller's back.
describe('a server that hangs and goes on', () => {
  it('charges none of fifty calls that were given up', async () => {
    const runner = scriptRunnerFor(await connect(server.url), 'redis');
    const charge = chargeOf(policyOf('fixed-window:1000/1h'), newSubject());
    const stores = await Promise.all(Array.from({ length: 50 }, () => acquainted(runner)));
    server.pause();

    const outcomes = await Promise.all(
      stores.map((store) => outcomeOf(one(store, 'consume', charge))),
    );
    server.resume();

    expect(new Set(outcomes)).toEqual(new Set(['DeadlineError']));
    await allRun(runner);
    expect(await one(witness, 'peek', charge)).toMatchObject({ remaining: 1000 });
  });

  it('changes nothing by any verb, whatever the algorithm', async () => {
    const runner = scriptRunnerFor(await connect(server.url), 'redis');
    const rows = await Promise.all(
      VERBS_ON_ALL.map(async ([verb, text]) => {
        const charge = chargeOf(policyOf(text), newSubject());
        await one(witness, 'consume', { ...charge, cost: 4 });
        if (verb === 'unblock') await one(witness, 'block', { ...charge, cost: 3_600_000 });
        return { verb, charge, store: await acquainted(runner) };
      }),
    );
    const stored = (): Promise<(Buffer | null)[]> =>
      client.mgetBuffer(...rows.map(({ charge }) => charge.key));
    const before = await stored();
    server.pause();

    const outcomes = await Promise.all(
      rows.map(({ verb, charge, store }) =>
        outcomeOf(one(store, verb, { ...charge, cost: verb === 'block' ? 60_000 : 2 })),
      ),
    );
    server.resume();
    await allRun(runner);

    expect(new Set(outcomes)).toEqual(new Set(['DeadlineError']));
    expect(await stored()).toEqual(before);
    // Each of these would have changed it.
    for (const { verb, charge } of rows) {
      await one(witness, verb, { ...charge, cost: verb === 'block' ? 60_000 : 2 });
    }
    const after = await stored();
    expect(after.filter((value, index) => before[index]!.equals(value ?? Buffer.of()))).toEqual([]);
  });

  // Nobody knows its clock yet: at most what was under way then is charged late, once.
  it('may charge the first call of a store, which does not know its clock', async () => {
    const charge = chargeOf(policyOf('fixed-window:1000/1h'), newSubject());
    const runner = scriptRunnerFor(await connect(server.url), 'redis');
    await acquainted(runner);
    const store = new RedisStore(runner, { timeoutMs: TIMEOUT_MS });
    server.pause();
    const first = await outcomeOf(one(store, 'consume', charge));
    server.resume();
    await eventually('the first call is charged', async () => {
      const { remaining } = await one(witness, 'peek', charge);
      return remaining === 999;
    });
    await one(store, 'peek', charge);

    server.pause();
    const second = await outcomeOf(one(store, 'consume', charge));
    server.resume();
    await allRun(runner);

    expect([first, second]).toEqual(['DeadlineError', 'DeadlineError']);
    expect(await one(witness, 'peek', charge)).toMatchObject({ remaining: 999 });
  });
});

describe('a link that is slow', () => {
  it('is no reason to charge twice: what was decided in time but told late is charged once', async () => {
    const proxy = await FaultProxy.start(server);
    const store = await acquainted(scriptRunnerFor(await connect(proxy.url), 'redis'), 400);
    const charge = chargeOf(policyOf('fixed-window:1000/1h'), newSubject());
    // There in time, and back too late.
    proxy.fault = { kind: 'slow', ms: 250 };

    expect(await outcomeOf(one(store, 'consume', charge))).toBe('DeadlineError');

    await eventually('it is charged', async () => {
      const { remaining } = await one(witness, 'peek', charge);
      return remaining === 999;
    });
    await proxy.close();
  });
});

describe('a clock of the server that was wrongly known', () => {
  it.each<[what: string, behindMs: number]>([
    ['behind, so the script takes itself to be late', 10_000],
    ['as it is', 0],
  ])('leads to one charge: %s', async (_what, behindMs) => {
    const runner = scriptRunnerFor(await connect(server.url), 'redis');
    let runs = 0;
    // The first answer comes from a server whose clock is behind.
    const store = await acquainted(
      {
        run: async (script, keys, args) => {
          const reply = (await runner.run(script, keys, args)) as [number, ...unknown[]];
          return runs++ === 0 ? [reply[0] - behindMs, ...reply.slice(1)] : reply;
        },
      },
      2_000,
    );
    const charge = chargeOf(policyOf('fixed-window:1000/1h'), newSubject());

    expect(await one(store, 'consume', charge)).toMatchObject({ allowed: true, remaining: 999 });

    expect(runs).toBe(behindMs === 0 ? 2 : 3);
    expect(await one(witness, 'peek', charge)).toMatchObject({ remaining: 999 });
  });

  it('again and again is given up, and charges nothing', async () => {
    const runner = scriptRunnerFor(await connect(server.url), 'redis');
    const store = await acquainted(
      {
        run: async (script, keys, args) => {
          const [time, ...rest] = (await runner.run(script, keys, args)) as [number, ...unknown[]];
          return [time - 10_000, ...rest];
        },
      },
      2_000,
    );
    const charge = chargeOf(policyOf('fixed-window:1000/1h'), newSubject());

    expect(await outcomeOf(one(store, 'consume', charge))).toBe('DeadlineError');
    expect(await one(witness, 'peek', charge)).toMatchObject({ remaining: 1000 });
  });
});
