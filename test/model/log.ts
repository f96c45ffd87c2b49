import { Counter, smaller } from './counter.js';

/** 2^48 − 1: where the costs of a log stop. */
const LOG_MAX = 2n ** 48n - 1n;

interface Entry {
  readonly ts: bigint;
  readonly cost: bigint;
}

/** `sliding-window-log`: every request by itself, oldest first. */
export class SlidingWindowLog extends Counter {
  constructor(
    private readonly limit: bigint,
    private readonly window: bigint,
    private readonly now: bigint,
    private readonly entries: readonly Entry[],
  ) {
    super();
  }

  get stored(): bigint {
    return this.entries.at(-1)?.ts ?? 0n;
  }

  under(limit: bigint): SlidingWindowLog {
    return new SlidingWindowLog(limit, this.window, this.now, this.entries);
  }

  /** All entries move by the same time, so that the newest is of `t`. */
  movedTo(t: bigint): SlidingWindowLog {
    const back = this.stored - t;
    return this.with(this.entries.map(({ ts, cost }) => ({ ts: ts - back, cost })));
  }

  standingAt(now: bigint): SlidingWindowLog {
    const live = this.entries.filter(({ ts }) => ts > now - this.window);
    return new SlidingWindowLog(this.limit, this.window, now, live);
  }

  passes(cost: bigint): boolean {
    return this.sum() + cost <= this.limit;
  }

  isFull(): boolean {
    return this.entries.length === 0;
  }

  /** Once the sum has stopped there is nothing to note: an entry of cost 0 holds no quota. */
  charged(cost: bigint): SlidingWindowLog {
    const noted = smaller(cost, LOG_MAX - this.sum());
    return noted === 0n ? this : this.with([...this.entries, { ts: this.now, cost: noted }]);
  }

  refunded(cost: bigint): SlidingWindowLog {
    const entries = [...this.entries];
    let left = cost;
    while (left > 0n) {
      const newest = entries.pop();
      if (newest === undefined) {
        break;
      }
      if (newest.cost > left) {
        entries.push({ ts: newest.ts, cost: newest.cost - left });
      }
      left -= smaller(left, newest.cost);
    }
    return this.with(entries);
  }

  private sum(): bigint {
    return this.entries.reduce((sum, { cost }) => sum + cost, 0n);
  }

  private with(entries: readonly Entry[]): SlidingWindowLog {
    return new SlidingWindowLog(this.limit, this.window, this.now, entries);
  }
}
