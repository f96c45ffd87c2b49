import { setMaxListeners } from 'node:events';
import type { Clock } from './clock.js';
import { sleep } from './sleep.js';
import type { Charge, Decision } from './stores/rate-limit.store.js';

type Ask = (verb: 'consume' | 'peek', charge: Charge) => Promise<Decision>;

/** How long one caller waits. */
interface Patience {
  /** Time on the clock after which it wants a refusal. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Callers that wait for one counter, in this process, in the order they came. */
export class Turns {
  private readonly lines = new Map<string, Promise<unknown>>();
  private readonly closing = endless();

  constructor(private readonly clock: Clock) {}

  /** Ends all waiting, which would keep a process that is done from exiting. */
  close(): void {
    this.closing.abort(new Error('RateLimit: the app is shutting down'));
  }

  /**
   * Asks until it is allowed, sleeping in between for as long as the refusal says; a refusal when
   * that takes longer than `patienceMs`. Rejects with the signal's reason. A place that a leaky
   * bucket gave stays taken when its caller goes: those behind have been told to come after it.
   */
  async take(
    charge: Charge,
    patienceMs: number,
    signal: AbortSignal | undefined,
    ask: Ask,
  ): Promise<Decision> {
    const { key } = charge;
    const ended = linked([this.closing.signal, ...(signal === undefined ? [] : [signal])]);
    ended.signal.throwIfAborted();
    const patience = { deadline: this.clock.now() + patienceMs, signal: ended.signal };
    const ahead = this.lines.get(key);
    const turn = this.inTurn(charge, ahead, patience, ask);
    // Whoever leaves the line early lets nobody pass those ahead of it.
    const line = Promise.allSettled([ahead, turn]);
    this.lines.set(key, line);
    void line.then(() => {
      if (this.lines.get(key) === line) this.lines.delete(key);
    });
    try {
      const decision = await turn;
      await sleep(this.clock, decision.delayMs, patience.signal);
      return decision;
    } finally {
      ended.release();
    }
  }

  private async inTurn(
    charge: Charge,
    ahead: Promise<unknown> | undefined,
    patience: Patience,
    ask: Ask,
  ): Promise<Decision> {
    if (ahead !== undefined && !(await this.comes(ahead, patience))) {
      const decision = await ask('peek', charge);
      const retryAfterMs = Math.max(1, decision.retryAfterMs);
      return { ...decision, allowed: false, retryAfterMs, delayMs: 0 };
    }
    for (;;) {
      patience.signal.throwIfAborted();
      const restMs = Math.max(0, patience.deadline - this.clock.now());
      const decision = await ask('consume', within(charge, restMs));
      const { allowed, retryAfterMs } = decision;
      // What can never pass is not waited for, however long the patience.
      const isVain = retryAfterMs === Infinity || servedInMs(charge, decision) > restMs;
      if (allowed || isVain) return decision;
      await sleep(this.clock, retryAfterMs, patience.signal);
    }
  }

  /** Whether those ahead are done before this caller's patience is. */
  private async comes(ahead: Promise<unknown>, { deadline, signal }: Patience): Promise<boolean> {
    const { signal: either, abort, release } = linked([signal]);
    const timeout =
      deadline === Infinity
        ? aborted(either)
        : sleep(this.clock, deadline - this.clock.now(), either).then(() => false);
    try {
      return await Promise.race([ahead.then(() => true), timeout]);
    } finally {
      timeout.catch(() => undefined);
      abort();
      release();
    }
  }
}

/** A leaky bucket gives no place whose delay is longer than the caller waits. */
function within(charge: Charge, restMs: number): Charge {
  const { policy } = charge;
  if (policy.algorithm !== 'leaky-bucket' || policy.maxDelayMs <= restMs) return charge;
  return { ...charge, policy: { ...policy, maxDelayMs: restMs } };
}

/** In a queue all that is ahead drains first, however long a refused caller waits to stand in it. */
function servedInMs({ policy }: Charge, { retryAfterMs, resetAfterMs }: Decision): number {
  return policy.algorithm === 'leaky-bucket' ? resetAfterMs : retryAfterMs;
}

/** Any number may wait for it, which Node takes for a leak otherwise. */
function endless(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** A signal that follows others until it is released, so that a long-lived one collects nothing. */
function linked(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal;
  readonly abort: () => void;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const follow = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener('abort', follow, { once: true });
  }
  return {
    signal: controller.signal,
    abort: () => controller.abort(),
    release: () => {
      for (const signal of signals) signal.removeEventListener('abort', follow);
    },
  };
}
