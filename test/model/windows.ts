import { Counter, larger, MAX, smaller } from './counter.js';

/** `fixed-window`: `used` in the window that starts at `stored`. */
export class FixedWindow extends Counter {
  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
    readonly stored: bigint,
    private readonly used: bigint,
  ) {
    super();
  }

  static fresh(limit: bigint, window: bigint, t: bigint): FixedWindow {
    return new FixedWindow(limit, window, startOf(t, window), 0n);
  }

  under(limit: bigint): FixedWindow {
    return new FixedWindow(limit, this.window, this.stored, this.used);
  }

  movedTo(t: bigint): FixedWindow {
    return new FixedWindow(this.limit, this.window, startOf(t, this.window), this.used);
  }

  standingAt(now: bigint): FixedWindow {
    const start = startOf(now, this.window);
    return start === this.stored ? this : new FixedWindow(this.limit, this.window, start, 0n);
  }

  passes(cost: bigint): boolean {
    return this.used + cost <= this.limit;
  }

  isFull(): boolean {
    return this.used === 0n;
  }

  charged(cost: bigint): FixedWindow {
    return this.with(smaller(MAX, this.used + cost));
  }

  refunded(cost: bigint): FixedWindow {
    return this.with(larger(0n, this.used - cost));
  }

  private with(used: bigint): FixedWindow {
    return new FixedWindow(this.limit, this.window, this.stored, used);
  }
}

/** `sliding-window-counter`; it knows how far into its window it stands. */
export class SlidingWindowCounter extends Counter {
  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
    readonly stored: bigint,
    private readonly previous: bigint,
    private readonly current: bigint,
    private readonly elapsed = 0n,
  ) {
    super();
  }

  static fresh(limit: bigint, window: bigint, t: bigint): SlidingWindowCounter {
    return new SlidingWindowCounter(limit, window, startOf(t, window), 0n, 0n);
  }

  under(limit: bigint): SlidingWindowCounter {
    return new SlidingWindowCounter(limit, this.window, this.stored, this.previous, this.current);
  }

  movedTo(t: bigint): SlidingWindowCounter {
    const start = startOf(t, this.window);
    return new SlidingWindowCounter(this.limit, this.window, start, this.previous, this.current);
  }

  standingAt(now: bigint): SlidingWindowCounter {
    const start = startOf(now, this.window);
    const windowsLater = (start - this.stored) / this.window;
    const counts = windowsLater === 0n ? [this.previous, this.current] : [this.current, 0n];
    const [previous = 0n, current = 0n] = windowsLater > 1n ? [] : counts;
    return new SlidingWindowCounter(this.limit, this.window, start, previous, current, now - start);
  }

  passes(cost: bigint): boolean {
    const used = this.previous * (this.window - this.elapsed) + this.current * this.window;
    return used + cost * this.window <= this.limit * this.window;
  }

  isFull(): boolean {
    return this.previous === 0n && this.current === 0n;
  }

  charged(cost: bigint): SlidingWindowCounter {
    return this.with(smaller(MAX / this.window, this.current + cost));
  }

  refunded(cost: bigint): SlidingWindowCounter {
    return this.with(larger(0n, this.current - cost));
  }

  private with(current: bigint): SlidingWindowCounter {
    const { limit, window, stored, previous, elapsed } = this;
    return new SlidingWindowCounter(limit, window, stored, previous, current, elapsed);
  }
}

function startOf(t: bigint, window: bigint): bigint {
  return (t / window) * window;
}
