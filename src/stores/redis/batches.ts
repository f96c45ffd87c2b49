import type { Clock } from '../../clock.js';
import type { Decision, Operation } from '../rate-limit.store.js';
import type { Outcome } from './wire.js';

/** A batch holds Redis for as long as its script runs: about half a millisecond for so many charges. */
const MAX_CHARGES = 96;
/** While so many scripts are under way, what is asked waits for the next answer… */
const MAX_UNDER_WAY = 2;
/** …but no longer than this. */
const MAX_HOLD_MS = 5;

/** `askedAt` is when the first of them was asked, by the clock of the batches. */
type Send = (operations: readonly Operation[], askedAt: number) => Promise<readonly Outcome[]>;

interface Waiting {
  readonly resolve: (decisions: readonly Decision[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Operations travel together: those of one turn of the event loop, and while scripts are under way
 * those that come until one answers. When nothing is under way an operation is sent at once, so a
 * single caller waits for nobody.
 */
export class Batches {
  private operations: Operation[] = [];
  private waiting: Waiting[] = [];
  private charges = 0;
  private askedAt = 0;
  private underWay = 0;
  /** Several were answered together, so several may ask together. */
  private isGathering = false;
  private isTurnEnding = false;
  private hold: NodeJS.Timeout | undefined;

  constructor(
    private readonly send: Send,
    private readonly clock: Clock,
  ) {}

  decide(operation: Operation): Promise<readonly Decision[]> {
    return new Promise((resolve, reject) => {
      if (this.operations.push(operation) === 1) this.askedAt = this.clock.now();
      this.waiting.push({ resolve, reject });
      this.charges += operation.charges.length;
      if (this.charges >= MAX_CHARGES) this.flush();
      else if (this.underWay === 0 && !this.isGathering) this.flush();
      else if (this.underWay < MAX_UNDER_WAY) this.flushAfterTurn();
      else this.hold ??= setTimeout(this.flush, MAX_HOLD_MS);
    });
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
    const { operations, waiting, askedAt } = this;
    if (operations.length === 0) return;
    this.operations = [];
    this.waiting = [];
    this.charges = 0;
    this.underWay++;
    this.send(operations, askedAt).then(
      (outcomes) => {
        this.answered(waiting.length);
        for (let index = 0; index < waiting.length; index++) {
          const outcome = outcomes[index]!;
          if (outcome instanceof Error) waiting[index]!.reject(outcome);
          else waiting[index]!.resolve(outcome);
        }
      },
      (error: unknown) => {
        this.answered(waiting.length);
        for (const { reject } of waiting) reject(error);
      },
    );
  };

  private answered(count: number): void {
    this.underWay--;
    if (count > 1) this.isGathering = true;
    if (this.isGathering || this.operations.length > 0) this.flushAfterTurn();
  }
}
