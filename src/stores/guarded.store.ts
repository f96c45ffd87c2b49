import { monotonicClock, type Clock } from '../clock.js';
import { DeadlineError } from '../deadline.js';
import { Deadlines, Timed } from './availability/deadlines.js';
import { Gate } from './availability/gate.js';
import type { StoreHealth } from './availability/store-health.js';
import { RateLimitStore, type Decision, type Operation } from './rate-limit.store.js';

/** One call of the store, until it answers or is too late. */
class Call extends Timed {
  constructor(private readonly onLate: () => void) {
    super();
  }

  override expire(): void {
    this.onLate();
  }
}

/** A store of the app's own behind a deadline and a breaker, as Redis is. */
export class GuardedStore extends RateLimitStore {
  private readonly gate: Gate;
  private readonly deadlines: Deadlines;

  constructor(
    private readonly store: RateLimitStore,
    timeoutMs: number,
    health: StoreHealth,
    private readonly clock: Clock = monotonicClock,
  ) {
    super();
    this.gate = new Gate(clock, health);
    this.deadlines = new Deadlines(timeoutMs, clock);
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    const refusal = this.gate.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const askedAt = this.clock.now();
      const fail = (error: unknown): void => {
        this.gate.failed(error, askedAt);
        reject(error);
      };
      const call = new Call(() => fail(new DeadlineError('the store', this.deadlines.timeoutMs)));
      this.deadlines.add(call, askedAt);
      this.ask(operation).then(
        (decisions) => {
          if (!call.isWaiting) return;
          this.deadlines.remove(call);
          this.gate.succeeded(askedAt);
          resolve(decisions);
        },
        (error: unknown) => {
          if (!call.isWaiting) return;
          this.deadlines.remove(call);
          fail(error);
        },
      );
    });
  }

  override async close(): Promise<void> {
    this.deadlines.close();
    await this.store.close();
  }

  private async ask(operation: Operation): Promise<readonly Decision[]> {
    const decisions = await this.store.decide(operation);
    const { length } = operation.charges;
    if (decisions.length === length) return decisions;
    throw new Error(`the store answered ${decisions.length} decisions for ${length} charges`);
  }
}
