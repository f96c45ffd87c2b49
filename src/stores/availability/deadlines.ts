import type { Clock } from '../../clock.js';

/** What has to be over by a time. An entry of a list, so that leaving it costs nothing. */
export abstract class Timed {
  dueAt = 0;
  earlier: Timed | undefined;
  later: Timed | undefined;
  isWaiting = false;

  abstract expire(): void;
}

/**
 * Many waits of the same length under one timer. Fair to an answer that is there already but stands
 * behind a blocked event loop: what is due is given two turns before it expires.
 */
export class Deadlines {
  private first: Timed | undefined;
  private last: Timed | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** `timeoutMs` of Infinity is no deadline. */
  constructor(
    readonly timeoutMs: number,
    private readonly clock: Clock,
  ) {}

  add(timed: Timed, now = this.clock.now()): void {
    timed.isWaiting = true;
    if (this.timeoutMs === Infinity) return;
    timed.dueAt = now + this.timeoutMs;
    timed.earlier = this.last;
    if (this.last === undefined) {
      this.first = timed;
      this.timer?.ref();
    } else this.last.later = timed;
    this.last = timed;
    this.timer ??= setTimeout(this.onTimer, this.timeoutMs);
  }

  remove(timed: Timed): void {
    if (!timed.isWaiting) return;
    timed.isWaiting = false;
    if (timed.earlier === undefined) this.first = timed.later;
    else timed.earlier.later = timed.later;
    if (timed.later === undefined) this.last = timed.earlier;
    else timed.later.earlier = timed.earlier;
    // Whoever keeps it keeps none of its neighbours.
    timed.earlier = undefined;
    timed.later = undefined;
    // Not cleared, for the next one; but nothing is to wait for it meanwhile.
    if (this.first === undefined) this.timer?.unref();
  }

  /** What still waits expires now, so that nobody waits for ever. */
  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.expire(Infinity);
  }

  private readonly onTimer = (): void => {
    this.timer = undefined;
    if (this.first === undefined) return;
    const now = this.clock.now();
    if (this.first.dueAt > now) this.arm(now);
    else setImmediate(() => setImmediate(() => this.expire(now)));
  };

  private expire(until: number): void {
    while (this.first !== undefined && this.first.dueAt <= until) {
      const { first } = this;
      this.remove(first);
      first.expire();
    }
    // What was set meanwhile may have set a timer, which is too late for what was set before it.
    clearTimeout(this.timer);
    this.timer = undefined;
    this.arm(this.clock.now());
  }

  private arm(now: number): void {
    if (this.first === undefined) return;
    this.timer ??= setTimeout(this.onTimer, Math.max(1, this.first.dueAt - now));
  }
}
