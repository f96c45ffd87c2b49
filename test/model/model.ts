import { Bucket, ClosedBucket } from './buckets.js';
import type { Counter } from './counter.js';
import { capacity, fresh, isClosed, type ModelPolicy, under } from './policy.js';
import { first, last } from './search.js';

export type { AlgorithmName, ModelPolicy } from './policy.js';

export interface ModelDecision {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly delayMs: number;
}

/**
 * The oracle: one key of one algorithm and window, told by definition instead of by formula. What
 * passes, and how time and charges change a counter, is the law; how much is left, when to come
 * back and when all is free again are found by trying.
 */
export class Model {
  private counter: Counter | undefined;
  private blockedUntil = 0n;

  consume(policy: ModelPolicy, cost: number, t: number): ModelDecision {
    const now = BigInt(t);
    const { counter, rewritten } = this.read(policy, now);
    const verdict = this.verdict(policy, counter, [BigInt(cost), now]);
    if (!verdict.allowed || cost === 0) {
      if (rewritten) {
        this.write(standing(counter, now), now);
      }
      return verdict;
    }
    const charged = standing(counter, now).charged(BigInt(cost));
    this.write(charged, now);
    return { ...verdict, ...this.quota(policy, charged, now) };
  }

  peek(policy: ModelPolicy, cost: number, t: number): ModelDecision {
    const now = BigInt(t);
    return this.verdict(policy, this.read(policy, now).counter, [BigInt(cost), now]);
  }

  charge(policy: ModelPolicy, cost: number, t: number): ModelDecision {
    return this.change(policy, [cost, t], (counter) => counter.charged(BigInt(cost)));
  }

  refund(policy: ModelPolicy, cost: number, t: number): ModelDecision {
    return this.change(policy, [cost, t], (counter) => counter.refunded(BigInt(cost)));
  }

  /** A block and its lifting leave the counter as it is, also where a refusal would rewrite it. */
  block(policy: ModelPolicy, durationMs: number, t: number): ModelDecision {
    this.blockedUntil = BigInt(t) + BigInt(durationMs);
    this.forgetFull(BigInt(t));
    return this.peek(policy, 1, t);
  }

  unblock(policy: ModelPolicy, t: number): ModelDecision {
    this.blockedUntil = 0n;
    this.forgetFull(BigInt(t));
    return this.peek(policy, 1, t);
  }

  reset(policy: ModelPolicy, t: number): ModelDecision {
    this.counter = undefined;
    return this.unblock(policy, t);
  }

  private change(
    policy: ModelPolicy,
    [cost, t]: readonly [number, number],
    by: (counter: Counter) => Counter,
  ): ModelDecision {
    const now = BigInt(t);
    const { counter, rewritten } = this.read(policy, now);
    const before = standing(counter, now);
    const after = cost === 0 ? before : by(before);
    if (cost > 0 || rewritten) {
      this.write(after, now);
    }
    return { allowed: true, retryAfterMs: 0, delayMs: 0, ...this.quota(policy, after, now) };
  }

  /**
   * The counter as the clock and the policy find it, before any time has run on it, and whether
   * even a refusal writes it down.
   */
  private read(policy: ModelPolicy, t: bigint): { counter: Counter; rewritten: boolean } {
    const stored = this.counter;
    if (stored === undefined || isClosed(policy)) {
      return { counter: fresh(policy, t), rewritten: false };
    }
    const farBehind = t < stored.stored - BigInt(policy.windowMs);
    const counter = farBehind ? stored.movedTo(t) : stored;
    // Full by the numbers it was written with: void, whatever the numbers are now.
    if (standing(counter, t).isFull()) {
      return { counter: fresh(policy, t), rewritten: false };
    }
    const renewed = under(policy, counter);
    const sameLife =
      !(counter instanceof Bucket && renewed instanceof Bucket) || counter.livesLike(renewed);
    const rewritten = (farBehind || !sameLife) && !standing(renewed, t).isFull();
    return { counter: renewed, rewritten };
  }

  /**
   * A counter that is full again is the same as none, and so is a block that is over; a closed
   * bucket leaves things as they are.
   */
  private write(counter: Counter, t: bigint): void {
    if (!(counter instanceof ClosedBucket)) {
      this.counter = counter.isFull() ? undefined : counter;
      this.blockedUntil = this.blockedUntil > t ? this.blockedUntil : 0n;
    }
  }

  /** Full by the numbers it was written with. */
  private forgetFull(t: bigint): void {
    if (this.counter !== undefined && standing(this.counter, t).isFull()) {
      this.counter = undefined;
    }
  }

  private verdict(
    policy: ModelPolicy,
    counter: Counter,
    [cost, t]: readonly [bigint, bigint],
  ): ModelDecision {
    const allowedAt = (time: bigint): boolean =>
      cost === 0n || (time >= this.blockedUntil && standing(counter, time).passes(cost));
    const allowed = allowedAt(t);
    const never = cost > capacity(policy);
    // With nobody else asking, windows only empty and buckets only recover, and a block only ends:
    // a cost that passes keeps passing, so the first such millisecond can be searched by halving.
    const retryAfterMs = never ? Infinity : Number(first((ms) => allowedAt(t + ms)));
    return {
      allowed,
      retryAfterMs: allowed ? 0 : retryAfterMs,
      delayMs: allowed && cost > 0n ? Number(standing(counter, t).delayMs()) : 0,
      ...this.quota(policy, counter, t),
    };
  }

  private quota(
    policy: ModelPolicy,
    counter: Counter,
    t: bigint,
  ): Pick<ModelDecision, 'remaining' | 'resetAfterMs'> {
    const here = standing(counter, t);
    const blocked = t < this.blockedUntil;
    // A larger cost never passes where a smaller one does not.
    const remaining = blocked ? 0n : last(capacity(policy), (cost) => here.passes(cost));
    const resetAfterMs = first(
      (ms) => t + ms >= this.blockedUntil && standing(counter, t + ms).isFull(),
    );
    return { remaining: Number(remaining), resetAfterMs: Number(resetAfterMs) };
  }
}

/** The counter at the clock's time, or at its own when the clock is a little behind. */
function standing(counter: Counter, t: bigint): Counter {
  return counter.standingAt(t < counter.stored ? counter.stored : t);
}
