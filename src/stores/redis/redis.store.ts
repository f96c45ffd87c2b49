import { RateLimitStore, type Decision, type Operation } from '../rate-limit.store.js';
import { DECIDE_SCRIPT } from './script.generated.js';
import type { ScriptRunner } from './script-runner.js';
import { decode, encode } from './wire.js';

/** Counters in Redis, shared by every process: one atomic script for all charges of a decision. */
export class RedisStore extends RateLimitStore {
  constructor(private readonly runner: ScriptRunner) {
    super();
  }

  override async decide(operation: Operation): Promise<readonly Decision[]> {
    const { keys, args } = encode([operation]);
    const reply = await this.runner.run(DECIDE_SCRIPT, keys, args);
    return decode([operation], reply)[0]!;
  }
}
