import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  ServiceCharges,
  type ChargeRequest,
  type KeyRef,
  type PolicyRef,
} from './service-charges.js';
import { checkDuration } from './policies/checks.js';
import { mismatch, printed } from './policies/configuration-error.js';
import { MAX_WINDOW_MS } from './policies/define-policy.js';
import type { Duration } from './policies/duration.js';
import { didYouMean } from './policies/nearest.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RateLimitUsageError, checkCost } from './stores/check-cost.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type Verb,
} from './stores/rate-limit.store.js';
import type { LimiterStatus } from './limiter-status.js';
import { StoreWatch } from './store-watch.js';
import { Turns } from './turns.js';

/** About a millisecond of Redis. */
const MAX_CHARGES = 256;

const COST = ['cost'];
const ACQUIRE = ['cost', 'maxWaitMs', 'signal'];
const CHARGE = ['policy', 'key', 'cost'];

export interface ConsumeOptions {
  /** Whole units, 0 or more. Default 1. */
  cost?: number;
}

export interface AcquireOptions extends ConsumeOptions {
  /** Milliseconds, or text such as `'30s'`, to wait at most. Default: no end. */
  maxWaitMs?: Duration;
  /** Ends the wait; `acquire` then rejects with its reason. */
  signal?: AbortSignal;
}

/** What became of several charges that were decided together. */
export interface CombinedDecision {
  readonly allowed: boolean;
  /** One a charge, in order. */
  readonly decisions: readonly Decision[];
  /** The one that keeps the caller waiting longest; when allowed, the one with the least left. */
  readonly deciding: Decision;
}

/**
 * The limiter for code of one's own: outbound calls, jobs, costs that are known afterwards.
 * A refusal is a result; what is thrown is misuse: a RateLimitUsageError for a cost, an unknown
 * tier or a key, a RateLimitConfigurationError for a policy or a duration.
 */
@Injectable()
export class LimiterService implements OnApplicationShutdown {
  private readonly turns: Turns;

  constructor(
    settings: RateLimitSettings,
    private readonly store: RateLimitStore,
    private readonly charges: ServiceCharges,
    private readonly watch: StoreWatch,
  ) {
    this.turns = new Turns(settings.clock);
  }

  /** Charges `cost` if it fits. */
  async consume(policy: PolicyRef, key: KeyRef, options?: ConsumeOptions): Promise<Decision> {
    if (options !== undefined) checkNames(options, 'options', COST);
    const operation = this.charges.consumeOf(policy, key, options?.cost);
    const decided = this.store.consumeNow?.(operation.charges[0]!);
    if (decided !== undefined) return decided;
    const [decision] = await this.store.decide(operation);
    return decision!;
  }

  /** Charges all or none, in one step; 256 at most. */
  async consumeAll(charges: readonly ChargeRequest[]): Promise<CombinedDecision> {
    if (!Array.isArray(charges) || charges.length === 0) {
      throw new RateLimitUsageError(mismatch(charges, 'an array of one charge or more'));
    }
    if (charges.length > MAX_CHARGES) {
      throw new RateLimitUsageError(
        `received ${charges.length} charges, expected ${MAX_CHARGES} at most: they hold Redis for one script`,
      );
    }
    const decisions = await this.store.decide({
      verb: 'consume',
      charges: charges.map((charge, index) => {
        checkNames(charge, `charges[${index}]`, CHARGE);
        return this.charges.chargeOf(charge.policy, charge.key, charge.cost);
      }),
    });
    return {
      allowed: decisions.every(({ allowed }) => allowed),
      decisions,
      deciding: decisions.reduce((a, b) => (isTighter(b, a) ? b : a)),
    };
  }

  /** The answer `consume` would give now; nothing is charged. */
  async peek(policy: PolicyRef, key: KeyRef, options: ConsumeOptions = {}) {
    checkNames(options, 'options', COST);
    return this.one('peek', { policy, key, cost: options.cost });
  }

  /** Charges after the fact: never refused, may overdraw, and then later calls wait for it. */
  async charge(policy: PolicyRef, key: KeyRef, cost: number) {
    checkCost(cost);
    return this.one('charge', { policy, key, cost });
  }

  /** Gives back; never above full, and nothing of a window that is over. */
  async refund(policy: PolicyRef, key: KeyRef, cost: number) {
    checkCost(cost);
    return this.one('refund', { policy, key, cost });
  }

  /**
   * Waits for its turn: callers of one process in their order. Answers a refusal when that would
   * take longer than `maxWaitMs`, or for ever. A leaky bucket's delay has passed when this resolves.
   */
  async acquire(policy: PolicyRef, key: KeyRef, options: AcquireOptions = {}): Promise<Decision> {
    checkNames(options, 'options', ACQUIRE);
    const { cost, maxWaitMs, signal } = options;
    const charge = this.charges.chargeOf(policy, key, cost);
    const patience =
      maxWaitMs === undefined || maxWaitMs === 0
        ? (maxWaitMs ?? Infinity)
        : checkDuration(maxWaitMs, 'maxWaitMs', MAX_WINDOW_MS);
    return this.turns.take(charge, patience, signal, (verb, asked) => this.decide(verb, asked));
  }

  /** Ends every `acquire` that still waits: each rejects. */
  onApplicationShutdown(): void {
    this.turns.close();
  }

  /** Refuses a key for a time, such as `'15m'`, whatever is left of its quota. */
  async block(policy: PolicyRef, key: KeyRef, duration: Duration) {
    const cost = checkDuration(duration, 'duration', MAX_WINDOW_MS);
    return this.one('block', { policy, key, cost });
  }

  async unblock(policy: PolicyRef, key: KeyRef) {
    return this.one('unblock', { policy, key });
  }

  /** Forgets a key: its counter and its block. */
  async reset(policy: PolicyRef, key: KeyRef) {
    return this.one('reset', { policy, key });
  }

  /** How the store is, as far as decisions have told. Asks nobody. */
  status(): LimiterStatus {
    return this.watch.status;
  }

  /**
   * The same after the store was asked, which takes `timeoutMs` at most and changes nothing there:
   * for health checks, where no request may come that would find out. Never rejects.
   */
  async probe(): Promise<LimiterStatus> {
    await this.watch.probe();
    return this.watch.status;
  }

  private one(verb: Verb, request: ChargeRequest): Promise<Decision> {
    return this.decide(verb, this.charges.chargeOf(request.policy, request.key, request.cost));
  }

  private async decide(verb: Verb, charge: Charge): Promise<Decision> {
    const [decision] = await this.store.decide({ verb, charges: [charge] });
    return decision!;
  }
}

/** A cost that is written alone, or under another name, would be charged as 1. */
function checkNames(written: unknown, what: string, known: readonly string[]): void {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    const expected = `an object with ${known.join(', ')}`;
    throw new RateLimitUsageError(`${what}: ${mismatch(written, expected)}`);
  }
  for (const name in written) {
    if (known.includes(name)) continue;
    const hint = didYouMean(name, known) || `, expected one of ${known.join(', ')}`;
    throw new RateLimitUsageError(`${what}: unknown option ${printed(name)}${hint}`);
  }
}

function isTighter(a: Decision, b: Decision): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  return a.allowed ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs;
}
