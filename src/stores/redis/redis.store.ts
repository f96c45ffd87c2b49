import { RateLimitStore, type Decision, type Operation } from '../rate-limit.store.js';
import { Batches, type Outcome } from './batches.js';
import { DECIDE_SCRIPT } from './script.generated.js';
import type { ScriptRunner } from './script-runner.js';
import { decode, encode } from './wire.js';

/**
 * Counters in Redis, shared by every process: one atomic script for all charges of a decision, and
 * for all decisions that are asked for in one turn of the event loop.
 */
export class RedisStore extends RateLimitStore {
  private readonly batches = new Batches((operations) => this.send(operations));

  constructor(private readonly runner: ScriptRunner) {
    super();
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    return this.batches.decide(operation);
  }

  private async send(operations: readonly Operation[]): Promise<readonly Outcome[]> {
    const { keys, args } = encode(operations);
    return decode(operations, await this.runner.run(DECIDE_SCRIPT, keys, args));
  }
}
