import type { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { platforms } from '../support/platforms.js';
import { freePorts } from '../support/redis/free-ports.js';
import { describeOutages, type Fault } from './outages.js';

/** What has to be set right is looked at again after 15 to 30 s. */
const MISCONFIGURED_MS = 30_000;

const configure =
  (name: string, value: string) =>
  ({ admin }: { admin: Redis }) =>
    admin.config('SET', name, value);

const killClients = (admin: Redis) =>
  admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

let settled: Promise<unknown>;

const faults: Fault[] = [
  {
    fault: 'demoted to a replica: READONLY',
    ids: ['RED-11'],
    kind: 'unavailable',
    strike: async ({ admin }) => admin.replicaof('127.0.0.1', (await freePorts(1))[0]!),
    heal: ({ admin }) => admin.replicaof('NO', 'ONE'),
  },
  {
    fault: 'too few replicas: NOREPLICAS',
    ids: ['RED-15'],
    kind: 'unavailable',
    strike: configure('min-replicas-to-write', '1'),
    heal: configure('min-replicas-to-write', '0'),
  },
  {
    fault: 'out of memory: OOM',
    ids: ['RED-20'],
    kind: 'unavailable',
    strike: configure('maxmemory', '1'),
    heal: configure('maxmemory', '0'),
  },
  {
    fault: 'busy with an endless script: BUSY',
    ids: ['RED-22'],
    kind: 'unavailable',
    args: ['--busy-reply-threshold', '50'],
    strike: ({ admin, server }) => {
      const endless = admin.duplicate();
      settled = endless.eval('while true do end', 0).then(
        () => undefined,
        () => endless.disconnect(),
      );
      return server;
    },
    heal: async ({ admin }) => {
      await admin.script('KILL');
      await settled;
    },
  },
  {
    fault: 'loading its data: LOADING',
    ids: ['RED-23'],
    kind: 'unavailable',
    args: ['--enable-debug-command', 'yes', '--loading-process-events-interval-bytes', '1024'],
    strike: async ({ admin }) => {
      await admin.call('DEBUG', 'POPULATE', '8000', 'filler', '100');
      await admin.config('SET', 'key-load-delay', '100');
      const loading = admin.duplicate();
      settled = loading.call('DEBUG', 'RELOAD').finally(() => loading.disconnect());
    },
    heal: () => settled,
  },
  {
    fault: 'its password changed, connections closed: NOAUTH',
    ids: ['RED-25'],
    // The breaker opens before the new connection is refused.
    kind: 'not-sent',
    strike: async ({ admin }) => {
      await admin.config('SET', 'requirepass', 'new');
      await killClients(admin);
    },
    heal: async ({ admin }) => {
      await admin.config('SET', 'requirepass', '');
      await eventually('all are connected again', async () => {
        const clients = String(await admin.client('LIST'));
        return clients.match(/name=nestjs-sluice/g)?.length === platforms.length;
      });
    },
    leapMs: MISCONFIGURED_MS,
  },
  {
    fault: 'scripts forbidden to the user: NOPERM',
    ids: ['RED-26'],
    kind: 'misconfigured',
    strike: ({ admin }) => admin.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    heal: ({ admin }) => admin.call('ACL', 'SETUSER', 'default', '+eval', '+evalsha'),
    leapMs: MISCONFIGURED_MS,
  },
  {
    fault: 'no connection left: maxclients',
    ids: ['RED-27'],
    kind: 'not-sent',
    strike: async ({ admin }) => {
      await admin.config('SET', 'maxclients', '1');
      await killClients(admin);
      await eventually('they are gone', async () =>
        (await admin.info('clients')).includes('connected_clients:1\r'),
      );
    },
    heal: configure('maxclients', '1000'),
  },
];

describeOutages('a Redis that refuses', faults);
