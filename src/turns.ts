import type { Clock } from './clock.js';
import { sleep } from './sleep.js';
import type { Charge, Decision } from './stores/rate-limit.store.js';

type Ask = (verb: 'consume' | 'peek' | 'refund') => Promise<Decision>;

/** How long one caller waits. */
interface Patience {
  /** Time on the clock after which it wants a refusal. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

/** Callers that wait for one counter, in this process, in the order they came. */
export class Turns {
  private readonly lines = new Map<string, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /**
   * Asks until it is allowed, sleeping in between for as long as the refusal says; a refusal when
   * that takes longer than `patienceMs`. Rejects with the signal's reason.
   */
  async take(
    { key }: Charge,
    patienceMs: number,
    signal: AbortSignal | undefined,
    ask: Ask,
  ): Promise<Decision> {
    signal?.throwIfAborted();
    const patience = { deadline: this.clock.now() + patienceMs, signal };
    const ahead = this.lines.get(key);
    const turn = this.inTurn(ahead, patience, ask);
    // Whoever leaves the line early lets nobody pass those ahead of it.
    const line = Promise.allSettled([ahead, turn]);
    this.lines.set(key, line);
    void line.then(() => {
      if (this.lines.get(key) === line) this.lines.delete(key);
    });
    return this.served(await turn, patience, ask);
  }

  private async inTurn(
    ahead: Promise<unknown> | undefined,
    patience: Patience,
    ask: Ask,
  ): Promise<Decision> {
    if (ahead !== undefined && !(await this.comes(ahead, patience))) {
      const decision = await ask('peek');
      const retryAfterMs = Math.max(1, decision.retryAfterMs);
      return { ...decision, allowed: false, retryAfterMs, delayMs: 0 };
    }
    for (;;) {
      patience.signal?.throwIfAborted();
      const decision = await ask('consume');
      if (decision.allowed) return decision;
      const { retryAfterMs } = decision;
      if (retryAfterMs === Infinity || this.clock.now() + retryAfterMs > patience.deadline) {
        return decision;
      }
      await sleep(this.clock, retryAfterMs, patience.signal);
    }
  }

  /** Whether those ahead are done before this caller's patience is. */
  private async comes(ahead: Promise<unknown>, patience: Patience): Promise<boolean> {
    const { deadline, signal } = patience;
    if (deadline === Infinity && signal === undefined) return ahead.then(() => true);
    const gaveUp = new AbortController();
    const signals = signal === undefined ? [gaveUp.signal] : [gaveUp.signal, signal];
    // A timer that is far enough away to stand for never.
    const restMs = Math.min(deadline - this.clock.now(), Number.MAX_SAFE_INTEGER);
    const timeout = sleep(this.clock, restMs, AbortSignal.any(signals)).then(() => false);
    try {
      return await Promise.race([ahead.then(() => true), timeout]);
    } finally {
      timeout.catch(() => undefined);
      gaveUp.abort();
    }
  }

  /** A leaky bucket has given a place in its queue; it is given back when nobody waits for it. */
  private async served(decision: Decision, patience: Patience, ask: Ask): Promise<Decision> {
    const { delayMs } = decision;
    if (!decision.allowed || delayMs === 0) return decision;
    const restMs = patience.deadline - this.clock.now();
    if (delayMs > restMs) {
      const { remaining, resetAfterMs } = await ask('refund');
      const retryAfterMs = delayMs - Math.max(0, restMs);
      return { ...decision, allowed: false, remaining, resetAfterMs, delayMs: 0, retryAfterMs };
    }
    try {
      await sleep(this.clock, delayMs, patience.signal);
      return decision;
    } catch (error) {
      await ask('refund');
      throw error;
    }
  }
}
