import type { Policy } from '../policies/policy.js';

/** While the store is away: limit in this process, admit, or refuse with 503. */
export type FailurePolicy = 'local' | 'open' | 'closed';

/** A value that holds several counters of one client, and which of them is meant. */
export interface SharedValue {
  readonly key: string;
  /** A whole number below 2^32, that of no other counter in it. */
  readonly field: number;
}

/** A place for what a store finds or works out, for when it is asked the same again. */
export interface Memo {
  found: object | undefined;
}

/** One policy counted under one key. */
export interface Charge {
  readonly policy: Policy;
  /** Names the counter, wherever it stands. */
  readonly key: string;
  /**
   * Where a store of values may keep it together with others that are charged with it, so that they
   * are read and written at once; always the same for a key, and none for an algorithm whose states
   * grow. Default: in a value of its own.
   */
  readonly shared?: SharedValue | undefined;
  /** Of what stands under `key`, where charges of it are kept and asked again. Default: none. */
  readonly memo?: Memo | undefined;
  /** Whole units, 0 or more; for `block`, the whole milliseconds it lasts. */
  readonly cost: number;
  /** Counts and reports, but refuses nothing. */
  readonly isShadow?: boolean;
  /** Default: the store's own. */
  readonly onStoreFailure?: FailurePolicy;
}

/**
 * - `consume`: charge all if all pass, else none.
 * - `peek`: the same answer, nothing charged, nothing written.
 * - `charge`: unconditional, may overdraw. `refund`: never above full.
 * - `block`, `unblock`, `reset`: of one key; they answer what a cost of 1 would now meet.
 */
export type Verb = 'consume' | 'peek' | 'charge' | 'refund' | 'block' | 'unblock' | 'reset';

export interface Operation {
  readonly verb: Verb;
  readonly charges: readonly Charge[];
  /** Of the operation itself, where it is kept and asked again. Default: none. */
  readonly memo?: Memo | undefined;
}

/** Who decided: a store, or what stands in for it while it is away. */
export type DecisionSource = 'redis' | 'memory' | 'denied-cache' | 'fallback' | 'open' | 'closed';

/** One tier's verdict. `docs/algorithms.md` says what each number means, to the millisecond. */
export interface Decision {
  /** Name of the policy. */
  readonly policy: string;
  /** The cost fits now. */
  readonly allowed: boolean;
  /** The policy's limit, in whole units per window. */
  readonly limit: number;
  /** The largest cost that would pass now; after an allowed charge, what is left. */
  readonly remaining: number;
  /** 0 when allowed; else when the same cost passes if nobody else asks. `Infinity`: never. */
  readonly retryAfterMs: number;
  /** Milliseconds until the whole quota is free again. */
  readonly resetAfterMs: number;
  /** Leaky bucket only: milliseconds the caller waits for its turn. */
  readonly delayMs: number;
  readonly source: DecisionSource;
}

/**
 * Where counters live. The class is the injection token of the module's store; extend it for a
 * store around a store. `test/stores/store-conformance.ts` is the suite that every store passes.
 */
export abstract class RateLimitStore {
  /** One decision a charge, in order, all or nothing. Rejects only when the store is away. */
  abstract decide(operation: Operation): Promise<readonly Decision[]>;

  /** A `consume` of one charge without a promise, where a store has nobody to wait for. */
  consumeNow?(charge: Charge): Decision;

  /** Lets go of what the store opened itself. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
