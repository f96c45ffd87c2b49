import { rmSync } from 'node:fs';
import { inspect } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { withDeadline } from '../../src/deadline.js';
import {
  STORE_ERRORS,
  classifyStoreError,
  withoutArguments,
  type StoreErrorKind,
} from '../../src/stores/redis/store-error.js';
import { planOf } from '../../src/stores/redis/plan.js';
import { decode } from '../../src/stores/redis/wire.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { chargeOf, newSubject, policyOf } from '../support/policies.js';
import {
  RedisServer,
  startCluster,
  startReplica,
  type RedisCluster,
} from '../support/redis-server.js';
import { freePorts } from '../support/redis/free-ports.js';
import { scriptClients, type ScriptClient } from '../support/script-clients.js';

const GET = "return redis.call('GET', KEYS[1])";
const SET = "return redis.call('SET', KEYS[1], '1')";

type Connect = (url: string, offlineQueue?: boolean) => Promise<ScriptClient>;
/** Does what fails; resolves to what it is told. */
type Fails = (connect: Connect) => Promise<unknown>;
type Row = [what: string, kind: StoreErrorKind, message: RegExp, fails: Fails];

let server: RedisServer;
let direct: Redis;
let cluster: RedisCluster;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  server = await RedisServer.start({ args: ['--busy-reply-threshold', '50'] });
  direct = new Redis(server.url);
  cluster = await startCluster({ masters: 3 });
});

afterAll(async () => {
  direct.disconnect();
  await server.stop();
  await cluster.stop();
});

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => new Error(`it did not fail: ${String(value)}`),
    (error: unknown) => error,
  );

/** A script at the shared server, with a setting of its own while it runs. */
const script =
  (lua: string, keys: readonly string[] = [], settings: Record<string, string> = {}): Fails =>
  async (connect) => {
    const client = await connect(server.url);
    for (const [name, value] of Object.entries(settings)) {
      await direct.config('SET', name, value);
      stops.push(() => direct.config('SET', name, '0'));
    }
    return failure(client.run(lua, keys));
  };

async function other(args: readonly string[]): Promise<RedisServer> {
  const started = await RedisServer.start({ args });
  stops.push(() => started.stop());
  return started;
}

const asUser =
  (rules: string, userinfo: string, key = 'rl'): Fails =>
  async (connect) => {
    const secured = await other(['--requirepass', 'secret', '--user', ...rules.split(' ')]);
    const client = await connect(secured.url.replace('//', `//${userinfo}`));
    const error = await failure(client.run(SET, [key]));
    // What a client says of a connection that may not be used depends on the client.
    return client.errors.find(({ message }) => message.startsWith('WRONGPASS')) ?? error;
  };

/** A call that Redis has executed, and whose answer does not arrive: what its caller is told. */
async function executedUnheard(
  connect: Connect,
  end: (proxy: FaultProxy, client: ScriptClient) => unknown,
): Promise<unknown> {
  const proxy = await throughProxy();
  const client = await connect(proxy.url);
  proxy.fault = { kind: 'drop-replies' };
  const lost = failure(client.run(SET, ['lost']));
  await eventually('it is executed', async () => (await direct.getdel('lost')) === '1');
  end(proxy, client);
  return lost;
}

async function throughProxy(): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(server);
  stops.push(() => proxy.close());
  return proxy;
}

const rows: Row[] = [
  [
    'a list where a counter should be',
    'poisoned-key',
    /^WRONGTYPE/,
    async (connect) => {
      await direct.del('list');
      await direct.rpush('list', 'x');
      return script(GET, ['list'])(connect);
    },
  ],
  [
    'text where a number should be',
    'poisoned-key',
    /^ERR value is not/,
    async (connect) => {
      await direct.set('text', 'x');
      return script("return redis.call('INCR', KEYS[1])", ['text'])(connect);
    },
  ],
  ['a global that is none', 'bug', /nonexistent global/, script('return nosuch()')],
  ['an error of the script', 'bug', /^ERR user_script:1: x/, script("error('x')")],
  ['a script that does not compile', 'bug', /^ERR Error compiling/, script('return return')],
  [
    'a command that a service leaves out',
    'misconfigured',
    /^ERR Unknown Redis command/,
    script("return redis.call('NOSUCH')"),
  ],
  [
    'a script that nobody has loaded',
    'misconfigured',
    /^NOSCRIPT/,
    async (connect) => failure((await connect(server.url)).runLoaded('0'.repeat(40))),
  ],
  ['no memory left (RED-20)', 'unavailable', /^OOM/, script(SET, ['key'], { maxmemory: '1' })],
  [
    'too few replicas (RED-15)',
    'unavailable',
    /^NOREPLICAS/,
    script(SET, ['key'], { 'min-replicas-to-write': '1' }),
  ],
  [
    'a disk that cannot be written',
    'unavailable',
    /^MISCONF/,
    async (connect) => {
      const saving = await other(['--save', '3600 1']);
      const client = await connect(saving.url);
      const admin = new Redis(saving.url);
      const [, directory] = await admin.config('GET', 'dir');
      rmSync(directory!, { recursive: true });
      await admin.bgsave();
      await eventually('the snapshot has failed', async () =>
        (await admin.info('persistence')).includes('rdb_last_bgsave_status:err'),
      );
      admin.disconnect();
      return failure(client.run(SET, ['key']));
    },
  ],
  [
    'a script that does not end (RED-22)',
    'unavailable',
    /^BUSY/,
    async (connect) => {
      const client = await connect(server.url);
      const endless = new Redis(server.url);
      const ended = failure(endless.eval('while true do end', 0));
      await eventually('Redis says that it is busy', async () =>
        String(await failure(direct.ping())).includes('BUSY'),
      );
      const error = await failure(client.run(SET, ['key']));
      await direct.script('KILL');
      await ended;
      endless.disconnect();
      return error;
    },
  ],
  [
    'a dataset being loaded (RED-23)',
    'unavailable',
    /^LOADING/,
    async (connect) => {
      const loading = await other([
        '--enable-debug-command',
        'yes',
        '--loading-process-events-interval-bytes',
        '1024',
      ]);
      const client = await connect(loading.url);
      const admin = new Redis(loading.url);
      await admin.call('DEBUG', 'POPULATE', '4000', 'key', '100');
      await admin.config('SET', 'key-load-delay', '50');
      const reloaded = failure(admin.call('DEBUG', 'RELOAD'));
      let error: unknown;
      await eventually('it is loading', async () => {
        error = await failure(client.run(GET, ['key']));
        return String(error).includes('LOADING');
      });
      admin.disconnect();
      await reloaded;
      return error;
    },
  ],
  [
    'a replica (RED-11)',
    'unavailable',
    /^READONLY/,
    async (connect) => {
      const replica = await startReplica(server);
      stops.push(() => replica.stop());
      return failure((await connect(replica.url)).run(SET, ['key']));
    },
  ],
  [
    'a replica that has lost its master',
    'unavailable',
    /^MASTERDOWN/,
    async (connect) => {
      const [nobody] = await freePorts(1);
      const replica = await other([
        '--replicaof',
        `127.0.0.1 ${nobody}`,
        '--replica-serve-stale-data',
        'no',
      ]);
      return failure((await connect(replica.url)).run(SET, ['key']));
    },
  ],
  ['a wrong password (RED-25)', 'misconfigured', /^WRONGPASS/, asUser('someone on', ':nope@')],
  [
    'a password changed while connected (RED-25)',
    'misconfigured',
    /^(NOAUTH|NOPERM)/,
    async (connect) => {
      const secured = await other([]);
      const client = await connect(secured.url);
      const admin = new Redis(secured.url);
      await admin.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha');
      admin.disconnect();
      return failure(client.run(SET, ['key']));
    },
  ],
  [
    'EVAL denied and nothing loaded (RED-09, RED-26)',
    'misconfigured',
    /^NOPERM/,
    asUser('lim on >pw ~rl* -@all +evalsha', 'lim:pw@'),
  ],
  [
    'a command of the script denied',
    'misconfigured',
    /^(ERR The user executing|NOPERM)/,
    asUser('lim on >pw ~rl* -@all +evalsha +eval', 'lim:pw@'),
  ],
  [
    'another prefix than the user may touch',
    'misconfigured',
    /^NOPERM/,
    asUser('lim on >pw ~rl* -@all +evalsha +eval', 'lim:pw@', 'other'),
  ],
  [
    'a cluster without slots (RED-18)',
    'unavailable',
    /^CLUSTERDOWN/,
    async (connect) => {
      const empty = await other(['--cluster-enabled', 'yes']);
      return failure((await connect(empty.url)).run(SET, ['key']));
    },
  ],
  [
    'keys of two slots (RED-16)',
    'misconfigured',
    /^CROSSSLOT/,
    async (connect) => failure((await connect(cluster.masters[0]!.url)).run(SET, ['a', 'b'])),
  ],
  [
    'a node of a cluster taken for a server',
    'misconfigured',
    /^MOVED/,
    async (connect) =>
      // `a` belongs to the last third of the slots.
      failure((await connect(cluster.masters[0]!.url)).run(SET, ['a'])),
  ],
  [
    'a connection that is closed in flight (RED-02)',
    'ambiguous',
    /max retries per request|ECONNRESET/,
    (connect) => executedUnheard(connect, (proxy) => proxy.reset()),
  ],
  [
    'a client that is closed while it waits (RED-53)',
    'ambiguous',
    /^Connection is closed|^Disconnects client/,
    (connect) => executedUnheard(connect, (_proxy, client) => client.close()),
  ],
  [
    'garbage (RED-31)',
    'ambiguous',
    /RESP type|rotocol error|max retries|Socket closed|ECONNRESET/,
    async (connect) => {
      const proxy = await throughProxy();
      const client = await connect(proxy.url);
      proxy.fault = { kind: 'garbage' };
      const error = failure(client.run(SET, ['key']));
      await eventually('the client has noticed', async () => client.errors.length > 0);
      proxy.fault = { kind: 'pass' };
      // Not every client ends such a connection itself.
      proxy.reset();
      return error;
    },
  ],
  [
    'nobody there (RED-01)',
    'not-sent',
    /^Stream isn't writeable|^The client is offline/,
    async (connect) => {
      const [nobody] = await freePorts(1);
      return failure((await connect(`redis://127.0.0.1:${nobody}`, false)).run(SET, ['key']));
    },
  ],
  [
    'nobody there, as the client is told',
    'not-sent',
    /ECONNREFUSED/,
    async (connect) => {
      const [nobody] = await freePorts(1);
      return (await connect(`redis://127.0.0.1:${nobody}`)).errors[0];
    },
  ],
  [
    'a name that is none (RED-32)',
    'not-sent',
    /ENOTFOUND|EAI_AGAIN/,
    async (connect) => (await connect('redis://no-such-host.invalid:6379')).errors[0],
  ],
];

describe.each(scriptClients)('an error of %s', (_name, open) => {
  it.each(rows)('%s: %s', async (_what, kind, message, fails) => {
    const error = await fails(async (url, offlineQueue = true) => {
      const client = await open({ url, offlineQueue });
      stops.push(() => client.close());
      return client;
    });

    expect((error as Error).message).toMatch(message);
    expect(classifyStoreError(error)).toBe(kind);
  });

  // RED-27: by then the client may know no more than that its connection is gone.
  it('no more connections: something that the breaker counts', async () => {
    const full = await other(['--maxclients', '1']);
    const only = new Redis(full.url);
    await only.ping();
    const client = await open({ url: full.url, offlineQueue: false });
    stops.push(() => client.close());

    const kinds = [await failure(client.run(SET, ['key'])), ...client.errors].map(
      classifyStoreError,
    );
    only.disconnect();

    expect(new Set(kinds.map((kind) => STORE_ERRORS[kind].breaker))).toEqual(new Set(['counts']));
  });

  it('is told without its command, whose arguments are keys (SEC-57)', async () => {
    const client = await open({ url: server.url });
    stops.push(() => client.close());
    await direct.del('the-key');
    await direct.rpush('the-key', 'x');
    const error = await failure(client.run(GET, ['the-key'], ['the-argument']));

    const told = withoutArguments(error);

    expect(told).toBeInstanceOf(Error);
    expect(told.message).toMatch(/^WRONGTYPE/);
    expect(told.name).toBe((error as Error).name);
    expect(inspect(told, { showHidden: true, depth: 9 })).not.toMatch(/the-key|the-argument/);
    expect(classifyStoreError(told)).toBe('poisoned-key');
  });
});

describe('an error', () => {
  it('of a cluster that only redirects is unavailable', async () => {
    const [first] = cluster.nodes;
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }) => [`${host}:${port}`, first!]),
    );
    const client = new Cluster([first!], { natMap, maxRedirections: 2 });
    stops.push(() => client.disconnect());

    const error = await failure(client.set('a', '1'));

    expect((error as Error).message).toMatch(/^Too many Cluster redirections/);
    expect(classifyStoreError(error)).toBe('unavailable');
  });

  it('of a cluster whose nodes refuse the password is a misconfiguration', async () => {
    const secured = await other(['--cluster-enabled', 'yes', '--requirepass', 'secret']);
    const client = new Cluster([{ host: secured.host, port: secured.port }], {
      clusterRetryStrategy: () => null,
      redisOptions: { password: 'nope' },
    });
    stops.push(() => client.disconnect());

    const error = await new Promise((resolve) => client.once('error', resolve));

    expect(classifyStoreError(error)).toBe('misconfigured');
  });

  const error = (message: string, more: object = {}): Error =>
    Object.assign(new Error(message), more);

  it.each<[what: string, kind: StoreErrorKind, error: unknown]>([
    [
      'TLS: unknown authority (SEC-69)',
      'misconfigured',
      error('self-signed certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    ],
    [
      'TLS: another host (SEC-69)',
      'misconfigured',
      error('Hostname/IP does not match', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
    ],
    [
      'no connection in time',
      'not-sent',
      error('connect ETIMEDOUT', { code: 'ETIMEDOUT', syscall: 'connect' }),
    ],
    [
      'a connection that died',
      'ambiguous',
      error('read ETIMEDOUT', { code: 'ETIMEDOUT', syscall: 'read' }),
    ],
    [
      'all addresses of a name',
      'not-sent',
      new AggregateError([error('connect ETIMEDOUT', { syscall: 'connect' })], ''),
    ],
    [
      'Redis 6: inner OOM',
      'unavailable',
      error(
        "ERR Error running script (call to f_ab12): @user_script:14: -OOM command not allowed when used memory > 'maxmemory'.",
      ),
    ],
    [
      'Redis 6: inner WRONGTYPE',
      'poisoned-key',
      error(
        'ERR Error running script (call to f_ab12): @user_script: 3: WRONGTYPE Operation against a key',
      ),
    ],
    [
      'Redis 6: an error of Lua',
      'bug',
      error(
        'ERR Error running script (call to f_ab12): @user_script:3: user_script:3: attempt to index a nil value',
      ),
    ],
    [
      'a script over HTTP',
      'not-sent',
      new TypeError('fetch failed', {
        cause: error('connect ECONNREFUSED', { code: 'ECONNREFUSED' }),
      }),
    ],
    [
      'what a connection explains',
      'misconfigured',
      error('not connected to Redis', { cause: error('WRONGPASS invalid username-password pair') }),
    ],
    [
      'what a connection cannot explain',
      'not-sent',
      error('not connected to Redis', { cause: error('write EPIPE', { code: 'EPIPE' }) }),
    ],
    ['a bug', 'bug', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['of a store of the app', 'ambiguous', error('the database is on fire')],
    ['nothing', 'ambiguous', undefined],
  ])('%s: %s', (_what, kind, given) => {
    expect(classifyStoreError(given)).toBe(kind);
  });

  it('of the deadline is ambiguous (RED-03)', async () => {
    const late = await failure(withDeadline(new Promise(() => undefined), 1, 'the store'));

    expect(classifyStoreError(late)).toBe('ambiguous');
  });

  it.each([undefined, [], [1, 'x', 1, 1, 1, 1], 'OK'])(
    'of the reply %p is a bug (SEC-46)',
    async (reply) => {
      const charges = [chargeOf(policyOf('gcra:10/1h'), newSubject())];

      const thrown = await failure(
        Promise.resolve().then(() => decode([planOf({ verb: 'consume', charges })], reply)),
      );

      expect((thrown as Error).message).toMatch(/^the script/);
      expect(classifyStoreError(thrown)).toBe('bug');
    },
  );

  it('keeps code, frames and cause, and loses arguments that Redis repeats (SEC-57)', () => {
    const cause = error(
      "ERR unknown command 'EVALSHA', with args beginning with: 'abc' 'the-key' ",
      {
        command: { name: 'evalsha', args: ['the-key'] },
      },
    );
    const given = Object.assign(new Error('wrapped', { cause }), {
      code: 'X',
      lastNodeError: cause,
    });

    const told = withoutArguments(given);

    expect(told).toMatchObject({ message: 'wrapped', code: 'X' });
    expect(told.stack).toMatch(/^Error: wrapped\n {4}at /);
    expect(told.cause).toMatchObject({ message: "ERR unknown command 'EVALSHA'" });
    expect(inspect(told, { showHidden: true, depth: 9 })).not.toMatch('the-key');
    expect(withoutArguments({ args: ['the-key'] }).message).toBe('the store failed with object');
  });
});
