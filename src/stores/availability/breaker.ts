import type { Clock } from '../../clock.js';

/** Failures in a row after which it opens… */
const CONSECUTIVE = 5;
/** …or the part of the calls of a span that failed, of no fewer calls than this. */
const FAILED_PART = 0.5;
const SPAN_MS = 10_000;
const CALLS_A_SPAN = 20;

const FIRST_OPEN_MS = 500;
const LAST_OPEN_MS = 5_000;
/** What somebody has to change heals no sooner because it is asked often. */
const MISCONFIGURED_OPEN_MS = 30_000;
/** Closed for so long, it starts from the first open time again. */
const STEADY_MS = 60_000;

export type BreakerState = 'closed' | 'open' | 'probing';

export interface BreakerOptions {
  /** Monotonic: a wall clock that is set must not keep it open. */
  readonly clock: Clock;
  /** From 0 to 1. Default: Math.random. */
  readonly random?: () => number;
}

/**
 * A circuit breaker around one server. While it is open nothing is sent; then one call at a time is,
 * to see whether it is back. Each time that is in vain it stays open longer, up to five seconds, with
 * up to half of that taken off by chance, so that many processes do not come back together.
 *
 * Results name the time at which they were asked for: what was asked before the last probe says
 * nothing of now, however late it comes.
 */
export class Breaker {
  private current: BreakerState = 'closed';
  private readonly clock: Clock;
  private readonly random: () => number;
  private inARow = 0;
  private spanEndsAt = -Infinity;
  private calls = 0;
  private failures = 0;
  private openMs = FIRST_OPEN_MS;
  private openUntil = 0;
  private isLasting = false;
  private closedAt = -Infinity;
  private probedAt = -Infinity;

  constructor({ clock, random = Math.random }: BreakerOptions) {
    this.clock = clock;
    this.random = random;
  }

  get state(): BreakerState {
    return this.current;
  }

  /** Whether a call may be sent. The first one after the open time is the probe. */
  admits(): boolean {
    if (this.current === 'closed') return true;
    if (this.current === 'probing') return false;
    const now = this.clock.now();
    if (now < this.openUntil) return false;
    this.current = 'probing';
    this.probedAt = now;
    return true;
  }

  /** True when that closed it. */
  succeeded(askedAt: number): boolean {
    if (this.isLate(askedAt)) return false;
    if (this.current === 'closed') {
      this.count(false);
      this.inARow = 0;
      return false;
    }
    this.current = 'closed';
    this.closedAt = this.clock.now();
    this.inARow = 0;
    this.spanEndsAt = -Infinity;
    return true;
  }

  /** True when that opened it. `isLasting`: it will not heal by itself. */
  failed(askedAt: number, isLasting = false): boolean {
    if (this.isLate(askedAt)) return false;
    if (this.current === 'probing') {
      this.open(isLasting);
      return false;
    }
    this.count(true);
    this.inARow++;
    const isOften = this.calls >= CALLS_A_SPAN && this.failures >= this.calls * FAILED_PART;
    if (!isLasting && this.inARow < CONSECUTIVE && !isOften) return false;
    if (this.clock.now() - this.closedAt >= STEADY_MS) this.openMs = FIRST_OPEN_MS;
    this.open(isLasting);
    return true;
  }

  /** The probe was not sent, or its answer said nothing of the server: the next call is the probe. */
  undecided(askedAt: number): void {
    if (this.current !== 'probing' || this.isLate(askedAt)) return;
    this.current = 'open';
    this.openUntil = this.clock.now();
  }

  /**
   * There is a new connection: the next call is the probe if it was open for what somebody had to
   * change. Any other open time is kept, or a server that comes and goes would open it each time.
   */
  look(): void {
    if (this.current === 'open' && this.isLasting) {
      this.openUntil = Math.min(this.openUntil, this.clock.now());
    }
  }

  private isLate(askedAt: number): boolean {
    return this.current === 'open' || askedAt < this.probedAt;
  }

  private open(isLasting: boolean): void {
    const openMs = isLasting ? MISCONFIGURED_OPEN_MS : this.openMs;
    this.current = 'open';
    this.isLasting = isLasting;
    this.openUntil = this.clock.now() + openMs * (1 - this.random() / 2);
    this.openMs = Math.min(LAST_OPEN_MS, this.openMs * 2);
  }

  private count(isFailure: boolean): void {
    const now = this.clock.now();
    if (now >= this.spanEndsAt) {
      this.spanEndsAt = now + SPAN_MS;
      this.calls = 0;
      this.failures = 0;
    }
    this.calls++;
    if (isFailure) this.failures++;
  }
}
