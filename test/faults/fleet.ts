import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { monotonicClock, type DecisionSource } from '../../src/index.js';
import { withDeadline } from '../../src/deadline.js';
import { RateLimitEvents } from '../../src/rate-limit.events.js';
import { StoreWatch } from '../../src/store-watch.js';
import type { StoreStatus } from '../../src/stores/availability/store-health.js';
import type { StoreErrorKind } from '../../src/stores/redis/store-error.js';
import { eventually } from '../support/eventually.js';
import { platforms, type RunningApp } from '../support/platforms.js';
import { leap } from './leap.js';
import type { Measurement } from './measurements.js';

@Controller()
class Search {
  @Get('find') find() {}
}

export const TIMEOUT_MS = 100;
/** A turn of the event loop of a machine that does much else; the deadline stands beside it. */
export const TURN_MS = 400;
export const LIMIT = 100;
export const SHARE = LIMIT / platforms.length;
/** Decided in Redis before the fault, of each member. */
const BEFORE = 20;
const CALLERS = 4;
const PAUSE_MS = 8;
/** Well over five seconds of an open breaker and two of a connection. */
const RECOVERY_MS = 15_000;

interface Decided {
  readonly source: DecisionSource;
  readonly allowed: boolean;
}

interface Member {
  readonly running: RunningApp;
  readonly decided: Decided[];
  readonly states: StoreStatus['state'][];
  readonly status: () => StoreStatus;
}

export interface Outage {
  readonly fault: string;
  readonly ids: readonly string[];
  readonly strike: () => unknown;
  readonly heal: () => unknown;
  /** Milliseconds that the clock of the members moves on after it. */
  readonly leapMs?: number;
  /** Whether Redis forgets what it has counted. */
  readonly isLossy?: boolean;
  /** A class that the members' failures have to be of. */
  readonly kind: StoreErrorKind;
}

/**
 * Instances of one app, on Express and on Fastify: each with a line of its own to one Redis, a share
 * of its own, and requests without a pause.
 */
export class Fleet {
  private constructor(private readonly members: readonly Member[]) {}

  static async start(sources: readonly unknown[]): Promise<Fleet> {
    const members = await Promise.all(
      platforms.map(async ({ start }, index): Promise<Member> => {
        const running = await start({
          rateLimit: {
            clock: monotonicClock,
            redis: sources[index] as string,
            tiers: [{ name: 'plan', by: 'global', policy: `token-bucket:${LIMIT}/1d` }],
            instances: platforms.length,
            timeoutMs: TIMEOUT_MS,
          },
          controllers: [Search],
        });
        const decided: Decided[] = [];
        const states: StoreStatus['state'][] = [];
        const events = running.app.get(RateLimitEvents);
        events.on('decided', ({ decision }) => decided.push(decision));
        events.on('store', ({ state }) => states.push(state));
        const { health } = running.app.get(StoreWatch);
        return { running, decided, states, status: () => health.status };
      }),
    );
    return new Fleet(members);
  }

  /** Error-level lines of all members. */
  get errors(): string[] {
    return this.members.flatMap(({ running }) =>
      running.log.filter(({ level }) => level === 'error').map(({ text }) => text),
    );
  }

  get transitions(): number {
    return this.members.reduce((sum, { states }) => sum + states.length, 0);
  }

  /** Lives through an outage under load and says, and records, how it was. */
  async endure(outage: Outage): Promise<Required<Measurement>> {
    const { fault, ids, strike, heal, leapMs = 0, isLossy = false, kind } = outage;
    await this.admitBefore();
    const before = this.decided().length;
    const traffic = new Traffic(this.members);
    try {
      const struckAt = performance.now();
      await strike();
      await soon('all are away', () => this.all((state) => state === 'down'));
      const detectedMs = performance.now() - struckAt;
      const kinds = this.members.flatMap(({ status }) => Object.keys(status().failures));
      await soon('all shares are used up', () => this.every(isUsedUp));
      const during = this.decided().slice(before);

      await heal();
      const healedAt = performance.now();
      if (leapMs > 0) leap(leapMs);
      await soon('all are back', () => this.all((state) => state === 'up'));
      const recoveredMs = performance.now() - healedAt;
      await soon('Redis has all that it is owed', () => this.every(isRefusedByRedis));
      await traffic.stop();

      if (!kinds.includes(kind)) throw new Error(`no failure was ${kind}: ${kinds.join(', ')}`);
      return {
        fault,
        ids,
        answers: `${traffic.statuses.join(' or ')} (${sourcesOf(during)})`,
        worstMs: traffic.worstMs,
        detectedMs,
        admitted: this.decided().filter(({ allowed }) => allowed).length,
        limit: LIMIT,
        bound: LIMIT + platforms.length * SHARE + (isLossy ? LIMIT : 0),
        recoveredMs,
      };
    } finally {
      await traffic.stop();
    }
  }

  private async admitBefore(): Promise<void> {
    for (const { running, decided } of this.members) {
      // The first may be slower than the deadline: everything is compiled then.
      await eventually('Redis has decided some', async () => {
        await running.ask('/find');
        return decided.filter(({ source }) => source === 'redis').length >= BEFORE;
      });
    }
  }

  private every(is: (decided: readonly Decided[]) => boolean): boolean {
    return this.members.every(({ decided }) => is(decided));
  }

  private all(is: (state: StoreStatus['state']) => boolean): boolean {
    return this.members.every(({ status }) => is(status().state));
  }

  private decided(): Decided[] {
    return this.members.flatMap(({ decided }) => decided);
  }
}

function isUsedUp(decided: readonly Decided[]): boolean {
  return decided.some(({ source, allowed }) => source === 'fallback' && !allowed);
}

/** What was owed is there: Redis admits nothing more. */
function isRefusedByRedis(decided: readonly Decided[]): boolean {
  const { source, allowed } = decided.at(-1)!;
  return (source === 'redis' || source === 'denied-cache') && !allowed;
}

function sourcesOf(decided: readonly Decided[]): string {
  const sources = new Set(decided.map(({ source }) => source));
  // Of what was under way still.
  sources.delete('redis');
  return [...sources].map((source) => `\`${source}\``).join(', ');
}

const soon = (what: string, check: () => boolean): Promise<void> =>
  eventually(what, async () => check(), RECOVERY_MS);

/** A few callers of each member, who ask again as soon as they are answered. */
class Traffic {
  worstMs = 0;
  private readonly seen = new Set<number>();
  private isOver = false;
  private readonly callers: Promise<unknown>;

  constructor(members: readonly Member[]) {
    this.callers = Promise.all(
      members.flatMap(({ running }) => Array.from({ length: CALLERS }, () => this.call(running))),
    );
  }

  get statuses(): number[] {
    return [...this.seen].toSorted((a, b) => a - b);
  }

  /** Every request is answered. */
  async stop(): Promise<void> {
    this.isOver = true;
    await withDeadline(this.callers, 2_000, 'a request');
  }

  private async call({ ask }: RunningApp): Promise<void> {
    while (!this.isOver) {
      // Not the clock that may leap.
      const askedAt = Date.now();
      const { status } = await ask('/find');
      this.seen.add(status);
      this.worstMs = Math.max(this.worstMs, Date.now() - askedAt);
      await sleep(PAUSE_MS);
    }
  }
}
