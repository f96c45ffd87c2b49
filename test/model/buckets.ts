import { Counter, larger, MAX, smaller } from './counter.js';
import { first } from './search.js';

/** A bucket's policy in units of 1/P token: `rate` units a millisecond, `token` units a token. */
export interface BucketNumbers {
  readonly rate: bigint;
  readonly token: bigint;
  readonly capacity: bigint;
  readonly maxDelay: bigint;
}

export function bucketNumbers(
  limit: bigint,
  window: bigint,
  burst: bigint,
  maxDelay: bigint,
): BucketNumbers {
  const divisor = greatestCommonDivisor(limit, window);
  const token = window / divisor;
  return { rate: limit / divisor, token, capacity: burst * token, maxDelay };
}

/** What the three buckets share: `amount` units at the time `stored`. */
export abstract class Bucket extends Counter {
  constructor(
    protected readonly numbers: BucketNumbers,
    readonly stored: bigint,
    protected readonly amount: bigint,
  ) {
    super();
  }

  /** The bucket taken over by other numbers, at the time it was made for. */
  abstract under(numbers: BucketNumbers): Bucket;

  /** A state tells its P and its time to full; numbers that change neither have not changed. */
  livesLike(other: Bucket): boolean {
    return this.numbers.token === other.numbers.token && this.fullAfter() === other.fullAfter();
  }

  private fullAfter(): bigint {
    return first((ms) => this.standingAt(this.stored + ms).isFull());
  }
}

/** `amount` is the level: it may be in debt, and it rises. */
export class TokenBucket extends Bucket {
  under(numbers: BucketNumbers): TokenBucket {
    const level = floorDivide(this.amount * numbers.token, this.numbers.token);
    return new TokenBucket(numbers, this.stored, legalLevel(level, numbers));
  }

  movedTo(t: bigint): TokenBucket {
    return new TokenBucket(this.numbers, t, this.amount);
  }

  standingAt(now: bigint): TokenBucket {
    const risen = this.amount + this.numbers.rate * (now - this.stored);
    return new TokenBucket(this.numbers, now, legalLevel(risen, this.numbers));
  }

  passes(cost: bigint): boolean {
    return this.amount >= cost * this.numbers.token;
  }

  isFull(): boolean {
    return this.amount === this.numbers.capacity;
  }

  charged(cost: bigint): TokenBucket {
    return this.with(this.amount - cost * this.numbers.token);
  }

  refunded(cost: bigint): TokenBucket {
    return this.with(this.amount + cost * this.numbers.token);
  }

  private with(level: bigint): TokenBucket {
    return new TokenBucket(this.numbers, this.stored, legalLevel(level, this.numbers));
  }
}

/** `amount` is the backlog: 0 is full quota, and it falls. */
export class Gcra extends Bucket {
  under(numbers: BucketNumbers): Gcra {
    const backlog = -floorDivide(-this.amount * numbers.token, this.numbers.token);
    return this.like(numbers, this.stored, backlog);
  }

  movedTo(t: bigint): Gcra {
    return this.like(this.numbers, t, this.amount);
  }

  standingAt(now: bigint): Gcra {
    const fallen = this.amount - this.numbers.rate * (now - this.stored);
    return this.like(this.numbers, now, fallen);
  }

  passes(cost: bigint): boolean {
    return this.amount + cost * this.numbers.token <= this.numbers.capacity;
  }

  isFull(): boolean {
    return this.amount === 0n;
  }

  charged(cost: bigint): Gcra {
    return this.like(this.numbers, this.stored, this.amount + cost * this.numbers.token);
  }

  refunded(cost: bigint): Gcra {
    return this.like(this.numbers, this.stored, this.amount - cost * this.numbers.token);
  }

  protected like(numbers: BucketNumbers, stored: bigint, backlog: bigint): Gcra {
    return new Gcra(numbers, stored, legalBacklog(backlog));
  }
}

/** The backlog of `gcra`; a caller waits until what was ahead of it has drained. */
export class LeakyBucket extends Gcra {
  override passes(cost: bigint): boolean {
    return super.passes(cost) && this.delayMs() <= this.numbers.maxDelay;
  }

  /** Counted on the bucket's own time: a clock behind it makes no caller wait longer. */
  override delayMs(): bigint {
    return first((ms) => this.amount - this.numbers.rate * ms <= 0n);
  }

  protected override like(numbers: BucketNumbers, stored: bigint, backlog: bigint): LeakyBucket {
    return new LeakyBucket(numbers, stored, legalBacklog(backlog));
  }
}

/** A bucket with a limit of 0: nothing moves, so it counts as full, and nothing passes. */
export class ClosedBucket extends Counter {
  readonly stored = 0n;

  movedTo(): ClosedBucket {
    return this;
  }

  standingAt(): ClosedBucket {
    return this;
  }

  passes(): boolean {
    return false;
  }

  isFull(): boolean {
    return true;
  }

  charged(): ClosedBucket {
    return this;
  }

  refunded(): ClosedBucket {
    return this;
  }
}

function legalLevel(level: bigint, { capacity }: BucketNumbers): bigint {
  return larger(capacity - MAX, smaller(capacity, level));
}

function legalBacklog(backlog: bigint): bigint {
  return larger(0n, smaller(MAX, backlog));
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1n : quotient;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
