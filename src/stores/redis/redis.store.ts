import { monotonicClock, type Clock } from '../../clock.js';
import { DeadlineError } from '../../deadline.js';
import { Deadlines } from '../availability/deadlines.js';
import { Gate } from '../availability/gate.js';
import { StoreHealth } from '../availability/store-health.js';
import { RateLimitStore, type Decision, type Operation } from '../rate-limit.store.js';
import { inOrderAsked } from './adjacent.js';
import { Batches } from './batches.js';
import { planOf, type Plan } from './plan.js';
import { DECIDE_SCRIPT } from './script.generated.js';
import type { ScriptRunner } from './script-runner.js';
import { ServerTime } from './server-time.js';
import { decode, encode, type Outcome } from './wire.js';

export interface RedisStoreOptions {
  /**
   * Milliseconds after which a call is given up. A script that Redis comes to later than this changes
   * nothing; Redis's clock is known from its first answer on. Default: never.
   */
  readonly timeoutMs?: number;
  /** Measures how long an answer took. Default: the process's monotonic clock. */
  readonly clock?: Clock;
  /** Told how Redis is. */
  readonly health?: StoreHealth;
}

/**
 * Counters in Redis, shared by every process: one atomic script for all charges of a decision, and
 * for all decisions that are asked for at about the same time. Rejects within `timeoutMs`, and at
 * once while the breaker is open.
 */
export class RedisStore extends RateLimitStore {
  private readonly runner: ScriptRunner;
  private readonly timeoutMs: number;
  private readonly clock: Clock;
  private readonly gate: Gate;
  private readonly deadlines: Deadlines;
  private readonly batches: Batches;
  private readonly serverTime = new ServerTime();

  constructor(
    runner: ScriptRunner,
    {
      timeoutMs = Infinity,
      clock = monotonicClock,
      health = new StoreHealth(clock),
    }: RedisStoreOptions = {},
  ) {
    super();
    this.runner = runner;
    this.timeoutMs = timeoutMs;
    this.clock = clock;
    this.gate = new Gate(clock, health);
    this.deadlines = new Deadlines(timeoutMs, clock);
    this.batches = new Batches({
      send: (plans, askedAt) => this.send(plans, askedAt),
      clock,
      deadlines: this.deadlines,
      gate: this.gate,
    });
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    const refusal = this.gate.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const plan = planOf(operation);
    const { order } = plan;
    const deciding = this.batches.decide(plan);
    return order === undefined
      ? deciding
      : deciding.then((decided) => inOrderAsked(decided, order));
  }

  /** A new connection is there: if the breaker is open, the next call looks whether it answers. */
  look(): void {
    this.gate.look();
  }

  override close(): Promise<void> {
    this.batches.close();
    this.deadlines.close();
    return Promise.resolve();
  }

  private async send(plans: readonly Plan[], askedAt: number): Promise<readonly Outcome[]> {
    const outcomes = await this.attempt(plans, askedAt);
    if (outcomes !== undefined) return outcomes;
    // Too late by a clock that was not this server's: nothing was charged, so again is safe.
    const isInTime = this.clock.now() < askedAt + this.timeoutMs;
    const again = isInTime ? await this.attempt(plans, askedAt) : undefined;
    if (again !== undefined) return again;
    throw new DeadlineError('the store', this.timeoutMs);
  }

  private async attempt(
    plans: readonly Plan[],
    askedAt: number,
  ): Promise<readonly Outcome[] | undefined> {
    const deadline =
      this.timeoutMs === Infinity ? undefined : this.serverTime.at(askedAt + this.timeoutMs);
    const { keys, args } = encode(plans, deadline);
    const sentAt = this.clock.now();
    const reply = await this.runner.run(DECIDE_SCRIPT, keys, args);
    const { time, outcomes } = decode(plans, reply);
    this.serverTime.learn(sentAt, this.clock.now(), time);
    if (outcomes === undefined && deadline === undefined) {
      throw new Error('the script replied that it came too late, and was told no deadline');
    }
    return outcomes;
  }
}
