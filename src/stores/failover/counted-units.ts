import type { Policy } from '../../policies/policy.js';

/**
 * Units of one key, as far as they still count by its policy's law: what has not drained from a
 * bucket yet, those of a fixed window, or those of a sliding one and a share of the one before. Three
 * numbers whatever was counted, so a log is told as a sliding window counter.
 */
export class CountedUnits {
  private units = 0;
  private before = 0;
  /** When the bucket was looked at, or the window began. */
  private since = 0;

  /** Fewer than none stay none. */
  add(policy: Policy, units: number, now: number): void {
    this.moveTo(policy, now);
    this.units = Math.max(0, this.units + units);
  }

  /** Rounded up. */
  at(policy: Policy, now: number): number {
    this.moveTo(policy, now);
    if (this.before === 0) return Math.ceil(this.units);
    const { windowMs } = policy;
    const share = Math.ceil((this.before * (windowMs - (now - this.since))) / windowMs);
    // The product may be rounded.
    return this.units + Math.min(this.before, share);
  }

  private moveTo(policy: Policy, now: number): void {
    if (policy.law.parameters.includes('burst')) this.drain(policy, now);
    else this.turn(policy, now);
  }

  private drain({ limit, windowMs }: Policy, now: number): void {
    this.units = Math.max(0, this.units - ((now - this.since) * limit) / windowMs);
    this.since = now;
  }

  private turn({ algorithm, windowMs }: Policy, now: number): void {
    const start = now - (now % windowMs);
    if (start === this.since) return;
    const isNext = start - this.since === windowMs;
    this.before = isNext && algorithm !== 'fixed-window' ? this.units : 0;
    this.units = 0;
    this.since = start;
  }
}
