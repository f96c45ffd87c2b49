import { Redis } from 'ioredis';
import type { NamedPolicy } from '../../src/service-charges.js';
import { eventually } from '../support/eventually.js';
import { Instance } from '../support/instance.js';
import { freePorts } from '../support/redis/free-ports.js';
import { Stops } from './stops.js';

const PLAN: NamedPolicy = { name: 'plan', policy: 'fixed-window:10/1d', onStoreFailure: 'open' };
const KEYS = ['one', 'two', 'three'];

type Act = (admin: Redis) => Promise<unknown>;

const set =
  (name: string, value: string): Act =>
  (admin) =>
    admin.config('SET', name, value);

/** Redis finds out in the middle of the script, at its first write. */
const refusals: [what: string, strike: Act, heal: Act][] = [
  ['out of memory (RED-20)', set('maxmemory', '1'), set('maxmemory', '0')],
  [
    'without replicas (RED-15)',
    set('min-replicas-to-write', '1'),
    set('min-replicas-to-write', '0'),
  ],
  [
    'demoted (RED-11)',
    async (admin) => admin.replicaof('127.0.0.1', (await freePorts(1))[0]!),
    (admin) => admin.replicaof('NO', 'ONE'),
  ],
];

const stops = new Stops();

describe('a Redis that takes no writes', () => {
  it.each(refusals)('has written none of several charges: %s', async (_what, strike, heal) => {
    const server = await stops.server();
    const admin = new Redis(server.url);
    stops.add(() => admin.disconnect());
    const one = await Instance.start(server.url);
    stops.add(() => one.close());
    const consume = () => one.consumeAll(PLAN, KEYS);
    await eventually('Redis decides', async () => (await consume()).deciding.source === 'redis');
    const before = await consume();
    const keys = KEYS.map((key) => one.redisKey(PLAN, key));
    const values = await admin.mgetBuffer(keys);

    await strike(admin);
    const refused = await consume();
    expect(refused.decisions.map(({ source }) => source)).toEqual(['open', 'open', 'open']);
    expect(await admin.mgetBuffer(keys)).toEqual(values);
    expect(await admin.dbsize()).toBe(KEYS.length);

    await heal(admin);
    await eventually('Redis decides', async () => (await consume()).deciding.source === 'redis');
    const left = before.decisions[0]!.remaining;
    const after = await one.consumeAll(PLAN, KEYS);
    expect(after.decisions.map(({ remaining }) => remaining)).toEqual(KEYS.map(() => left - 2));
  });
});
