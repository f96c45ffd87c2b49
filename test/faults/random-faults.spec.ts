import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { monotonicClock } from '../../src/index.js';
import { withDeadline } from '../../src/deadline.js';
import type { NamedPolicy } from '../../src/service-charges.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';
import { Instance } from '../support/instance.js';
import { randomFrom } from '../support/random.js';
import type { RedisServer } from '../support/redis-server.js';
import { chargedOf, type Charged } from './counted.js';
import { settledHeap } from './heap.js';
import { violations, type Call } from './history.js';
import { Stops } from './stops.js';

const SECONDS = Number(process.env['SLUICE_FAULT_SECONDS'] ?? 60);
const SEED = Number(process.env['SLUICE_FAULT_SEED'] ?? Date.now() % 2 ** 31);

const INSTANCES = 4;
const CALLERS = 6;
const PAUSE_MS = 20;
const TIMEOUT_MS = 100;
const FAULTS_MS = 4_000;
/** A breaker that is open for 5 s, a connection that waits for 2 s, and one more of each. */
const RECOVERY_MS = 20_000;
const TURN_MS = 50;
const CLOCK_TOLERANCE_MS = 5;
const HEAP_BYTES = 8_000_000;

/** Everybody's own keys have room enough: what matters is that none is charged twice. */
const LIMITS = { shared: 40, own: 4_000, open: 4_000 } as const;
const SHARED: NamedPolicy = { name: 'shared', policy: `token-bucket:${LIMITS.shared}/1d` };
const OWN: NamedPolicy = { name: 'own', policy: `token-bucket:${LIMITS.own}/1d` };
const OPEN: NamedPolicy = {
  name: 'open',
  policy: `token-bucket:${LIMITS.open}/1d`,
  onStoreFailure: 'open',
};
const SHARED_KEYS = 20;

interface Line {
  readonly one: Instance;
  readonly proxy: FaultProxy;
}

/** Does something to the system; resolves to what undoes it. */
type Strike = () => Promise<() => unknown>;

class Chaos {
  losses = 0;

  constructor(
    private readonly server: RedisServer,
    private readonly admin: Redis,
    private readonly proxies: readonly FaultProxy[],
    private readonly random: () => number,
  ) {}

  /** Faults on lines and faults of the server, at the same time, until it is over. */
  async reign(ms: number): Promise<void> {
    const until = performance.now() + ms;
    const strikes = async (next: () => Strike, mostCalmMs: number): Promise<void> => {
      while (performance.now() < until) {
        await sleep(this.between(0, mostCalmMs));
        const undo = await next()();
        await sleep(this.between(30, 500));
        await undo();
      }
    };
    await Promise.all([
      strikes(() => this.ofALine(), 400),
      strikes(() => this.ofTheServer(), 2_500),
    ]);
    for (const proxy of this.proxies) {
      proxy.fault = { kind: 'pass' };
      await proxy.accept();
    }
  }

  private ofALine(): Strike {
    const proxy = this.pick(this.proxies);
    const during =
      (fault: Fault): Strike =>
      async () => {
        proxy.fault = fault;
        return () => (proxy.fault = { kind: 'pass' });
      };
    return this.pick<Strike>([
      during({ kind: 'slow', ms: this.between(5, 150), jitterMs: 20 }),
      during({ kind: 'slow', ms: 300, share: 0.05 }),
      during({ kind: 'slice', maxBytes: 7 }),
      during({ kind: 'hold' }),
      during({ kind: 'blackhole' }),
      during({ kind: 'drop-replies' }),
      during({ kind: 'cut-replies', afterBytes: Math.floor(this.between(0, 20)) }),
      during({ kind: 'garbage' }),
      async () => {
        proxy.fault = { kind: 'drop-replies' };
        return () => {
          proxy.fault = { kind: 'pass' };
          proxy.reset();
        };
      },
      async () => {
        proxy.reset();
        return () => undefined;
      },
      async () => {
        proxy.halfClose();
        return () => undefined;
      },
      async () => {
        await proxy.refuse();
        proxy.reset();
        return () => proxy.accept();
      },
    ]);
  }

  private ofTheServer(): Strike {
    const pause: Strike = async () => {
      this.server.pause();
      return () => this.server.resume();
    };
    return this.pick<Strike>([
      pause,
      pause,
      async () => {
        await this.server.kill();
        this.losses++;
        return () => this.server.restart();
      },
      async () => {
        await this.admin.script('FLUSH');
        return () => undefined;
      },
      async () => {
        await this.admin.flushall();
        this.losses++;
        return () => undefined;
      },
    ]);
  }

  private pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.random() * all.length)]!;
  }

  private between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }
}

/** Callers of one instance; the keys of each round are the same, so nothing grows. */
class Callers {
  readonly calls: Call[] = [];
  private isOver = false;
  private readonly all: Promise<unknown>;

  constructor(
    private readonly one: Instance,
    private readonly name: string,
  ) {
    this.all = Promise.all(Array.from({ length: CALLERS }, (_, index) => this.run(index)));
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await withDeadline(this.all, 5_000, 'a call').catch(() => undefined);
  }

  private async run(caller: number): Promise<void> {
    for (let n = 0; !this.isOver; n++) {
      const own = `${this.name} ${caller} ${n}`;
      await Promise.all([
        this.call(SHARED, `shared ${n % SHARED_KEYS}`),
        this.call(OWN, own),
        this.call(OPEN, own),
      ]);
      await sleep(PAUSE_MS);
    }
  }

  private async call(policy: NamedPolicy, key: string): Promise<void> {
    const call: Call = {
      key: this.one.redisKey(policy, key),
      limit: LIMITS[policy.name as keyof typeof LIMITS],
      onStoreFailure: policy === OPEN ? 'open' : 'local',
      askedAtMs: monotonicClock.now(),
    };
    this.calls.push(call);
    try {
      call.decision = await this.one.consume(policy, key);
    } catch {
      // The checker says so.
    }
    call.settledAtMs = monotonicClock.now();
  }
}

const stops = new Stops();

async function lineTo(server: RedisServer): Promise<Line> {
  const proxy = await FaultProxy.start(server);
  const one = await Instance.start(proxy.url, { instances: INSTANCES, timeoutMs: TIMEOUT_MS });
  await eventually('Redis decides', async () => {
    return (await one.consume(OWN, 'warm', 0)).source === 'redis';
  });
  return { one, proxy };
}

async function recovered({ one }: Line): Promise<void> {
  const isWell = async (): Promise<boolean> => {
    const { source } = await one.consume(OWN, 'warm', 0);
    return source === 'redis' && one.status.state === 'up' && one.owed === 0;
  };
  await eventually('it is well and owes nothing', isWell, RECOVERY_MS);
}

async function countedIn(admin: Redis, calls: readonly Call[]): Promise<Map<string, Charged>> {
  const limits = new Map(calls.map(({ key, limit }) => [key, limit]));
  const values = await admin.mgetBuffer([...limits.keys()]);
  const counted = new Map<string, Charged>();
  for (const [index, [key, limit]] of [...limits].entries()) {
    const value = values[index];
    if (value) counted.set(key, chargedOf(value, limit));
  }
  return counted;
}

/** Redis's clock less ours: at least what an answer says when it comes, so the quickest knows best. */
async function offsetOf(admin: Redis): Promise<number> {
  let offsetMs = -Infinity;
  for (let sample = 0; sample < 20; sample++) {
    const [seconds, micros] = await admin.time();
    const serverMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    offsetMs = Math.max(offsetMs, serverMs - monotonicClock.now());
  }
  return offsetMs;
}

/** A round of faults on instances of its own, and all that never may have happened in it. */
async function round(server: RedisServer, admin: Redis, random: () => number): Promise<string[]> {
  await admin.flushall();
  const lines = await Promise.all(Array.from({ length: INSTANCES }, () => lineTo(server)));
  try {
    const proxies = lines.map(({ proxy }) => proxy);
    const chaos = new Chaos(server, admin, proxies, random);
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    const callers = lines.map(({ one }, index) => new Callers(one, `caller ${index}`));

    await chaos.reign(FAULTS_MS);
    for (const caller of callers) await caller.stop();
    delays.disable();
    await Promise.all(lines.map(recovered));

    const calls = callers.flatMap((caller) => caller.calls);
    const found = violations(calls, {
      timeoutMs: TIMEOUT_MS,
      turnMs: TURN_MS + 2 * (delays.max / 1e6),
      instances: INSTANCES,
      losses: chaos.losses,
      offsetMs: await offsetOf(admin),
      toleranceMs: CLOCK_TOLERANCE_MS,
      counted: await countedIn(admin, calls),
    });
    return [...found, ...withoutEffect(calls)];
  } finally {
    for (const { one, proxy } of lines) {
      await one.close();
      await proxy.close();
    }
  }
}

/** A round that has not had it all would prove nothing. */
function withoutEffect(calls: readonly Call[]): string[] {
  return ['redis', 'fallback', 'open']
    .filter((source) => !calls.some(({ decision }) => decision?.source === source))
    .map((source) => `nothing was decided by '${source}'`);
}

// RED-60.
it(
  `random faults for ${SECONDS} s: calls settle, bounds hold, nothing is charged twice or late`,
  async () => {
    const server = await stops.server();
    const admin = new Redis(server.url);
    admin.on('error', () => undefined);
    stops.add(() => admin.disconnect());
    const random = randomFrom(SEED);
    const heaps: number[] = [];
    const end = performance.now() + SECONDS * 1_000;

    do {
      const found = await round(server, admin, random);
      if (found.length > 0) {
        const told = found.slice(0, 10).join('\n');
        throw new Error(
          `${found.length} violations in round ${heaps.length} of SLUICE_FAULT_SEED=${SEED}:\n${told}`,
        );
      }
      heaps.push(settledHeap());
    } while (performance.now() < end);

    // The first round compiles everything.
    const [, settled = Infinity] = heaps;
    expect(heaps.at(-1)! - settled).toBeLessThan(HEAP_BYTES);
  },
  (SECONDS + 60) * 1_000,
);
