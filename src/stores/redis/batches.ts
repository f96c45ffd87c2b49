import type { Clock } from '../../clock.js';
import { DeadlineError } from '../../deadline.js';
import { Timed, type Deadlines } from '../availability/deadlines.js';
import type { Gate } from '../availability/gate.js';
import type { Decision } from '../rate-limit.store.js';
import type { Plan } from './plan.js';
import type { Outcome } from './wire.js';

/** A batch holds Redis for as long as its script runs: 0.2 to 0.4 ms for so many values of clients. */
const MAX_VALUES = 64;
/** While so many scripts are under way, what is asked waits for the next answer… */
const MAX_UNDER_WAY = 2;
/** …but no longer than this. */
const MAX_HOLD_MS = 5;

/** `askedAt` is when the first of them was asked, by the clock of the batches. */
type Send = (plans: readonly Plan[], askedAt: number) => Promise<readonly Outcome[]>;

export interface BatchesOptions {
  readonly send: Send;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Told once of each batch what became of it. */
  readonly gate: Gate;
}

/** Operations that travel together, in the order in which they were asked; never none. */
interface Batch {
  readonly plans: Plan[];
  readonly waiting: Waiting[];
  values: number;
  isSent: boolean;
  isOver: boolean;
}

/** One operation, until it is decided or too late. */
class Waiting extends Timed {
  constructor(
    private readonly batches: Batches,
    readonly batch: Batch,
    readonly askedAt: number,
    readonly resolve: (decisions: readonly Decision[]) => void,
    readonly reject: (error: unknown) => void,
  ) {
    super();
  }

  override expire(): void {
    this.batches.expired(this);
  }
}

/**
 * Operations travel together: those of one turn of the event loop, and while scripts are under way
 * those that come until one answers. When nothing is under way an operation is sent at once, so a
 * single caller waits for nobody.
 */
export class Batches {
  private next: Batch | undefined;
  private underWay = 0;
  /** Several were answered together, so several may ask together. */
  private isGathering = false;
  private isTurnEnding = false;
  private hold: NodeJS.Timeout | undefined;

  constructor(private readonly options: BatchesOptions) {}

  decide(plan: Plan): Promise<readonly Decision[]> {
    return new Promise((resolve, reject) => {
      const now = this.options.clock.now();
      // Held through a blocked event loop, it is not to share its deadline with what is asked now.
      if (this.next !== undefined && now - askedAtOf(this.next) > MAX_HOLD_MS) this.flush();
      const batch = (this.next ??= emptyBatch());
      const waiting = new Waiting(this, batch, now, resolve, reject);
      batch.plans.push(plan);
      batch.waiting.push(waiting);
      batch.values += plan.keys.length;
      this.options.deadlines.add(waiting, now);
      if (batch.values >= MAX_VALUES) this.flush();
      else if (this.underWay === 0 && !this.isGathering) this.flush();
      else if (this.underWay < MAX_UNDER_WAY) this.flushAfterTurn();
      else this.hold ??= setTimeout(this.flush, MAX_HOLD_MS);
    });
  }

  /** Its caller is answered at once; its script may be under way, and is not waited for. */
  expired(waiting: Waiting): void {
    const { batch } = waiting;
    const error = new DeadlineError('the store', this.options.deadlines.timeoutMs);
    if (batch.isSent) this.over(batch, error);
    else this.drop(waiting);
    waiting.reject(error);
  }

  close(): void {
    clearTimeout(this.hold);
  }

  /** It has not been sent, and is not to be. */
  private drop(waiting: Waiting): void {
    const { batch, askedAt } = waiting;
    const place = batch.waiting.indexOf(waiting);
    batch.waiting.splice(place, 1);
    const [plan] = batch.plans.splice(place, 1);
    batch.values -= plan!.keys.length;
    if (batch.waiting.length === 0) this.next = undefined;
    this.options.gate.unsent(askedAt);
  }

  private flushAfterTurn(): void {
    if (this.isTurnEnding) return;
    this.isTurnEnding = true;
    setImmediate(this.afterTurn);
  }

  private readonly afterTurn = (): void => {
    this.isTurnEnding = false;
    this.isGathering = false;
    this.flush();
  };

  private readonly flush = (): void => {
    clearTimeout(this.hold);
    this.hold = undefined;
    const batch = this.next;
    this.next = undefined;
    if (batch === undefined) return;
    this.underWay++;
    batch.isSent = true;
    this.options.send(batch.plans, askedAtOf(batch)).then(
      (outcomes) => this.answered(batch, outcomes),
      (error: unknown) => {
        this.over(batch, error);
        for (const waiting of batch.waiting) this.settle(waiting, error);
      },
    );
  };

  private answered(batch: Batch, outcomes: readonly Outcome[]): void {
    this.over(batch, undefined);
    const { waiting } = batch;
    for (let index = 0; index < waiting.length; index++) {
      this.settle(waiting[index]!, outcomes[index]!);
    }
  }

  private settle(waiting: Waiting, outcome: unknown): void {
    this.options.deadlines.remove(waiting);
    if (Array.isArray(outcome)) waiting.resolve(outcome as readonly Decision[]);
    else waiting.reject(outcome);
  }

  private over(batch: Batch, error: unknown): void {
    if (batch.isOver) return;
    batch.isOver = true;
    this.underWay--;
    if (error === undefined) this.options.gate.succeeded(askedAtOf(batch));
    else this.options.gate.failed(error, askedAtOf(batch));
    if (batch.waiting.length > 1) this.isGathering = true;
    if (this.isGathering || this.next !== undefined) this.flushAfterTurn();
  }
}

function emptyBatch(): Batch {
  return { plans: [], waiting: [], values: 0, isSent: false, isOver: false };
}

/** When the first of them was. */
function askedAtOf({ waiting: [first] }: Batch): number {
  return first!.askedAt;
}
