import type { Decision, Operation } from '../rate-limit.store.js';

/** A batch holds Redis for as long as its script runs: about half a millisecond for so many charges. */
const MAX_CHARGES = 64;

/** What became of one operation of a batch. */
export type Outcome = readonly Decision[] | Error;

type Send = (operations: readonly Operation[]) => Promise<readonly Outcome[]>;

interface Waiting {
  readonly operation: Operation;
  readonly resolve: (decisions: readonly Decision[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Operations that are asked for in one turn of the event loop travel together. When nothing is under
 * way an operation is sent at once, so a single caller waits for nobody.
 */
export class Batches {
  private waiting: Waiting[] = [];
  private underWay = 0;

  constructor(private readonly send: Send) {}

  decide(operation: Operation): Promise<readonly Decision[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ operation, resolve, reject });
      if (this.underWay === 0) this.flush();
      else if (this.waiting.length === 1) setImmediate(() => this.flush());
    });
  }

  private flush(): void {
    const { waiting } = this;
    this.waiting = [];
    let batch: Waiting[] = [];
    let charges = 0;
    for (const next of waiting) {
      const more = next.operation.charges.length;
      if (charges + more > MAX_CHARGES && batch.length > 0) {
        void this.dispatch(batch);
        batch = [];
        charges = 0;
      }
      batch.push(next);
      charges += more;
    }
    if (batch.length > 0) void this.dispatch(batch);
  }

  private async dispatch(batch: readonly Waiting[]): Promise<void> {
    this.underWay++;
    try {
      const outcomes = await this.send(batch.map(({ operation }) => operation));
      this.underWay--;
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index]!;
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      }
    } catch (error) {
      this.underWay--;
      for (const { reject } of batch) reject(error);
    }
  }
}
