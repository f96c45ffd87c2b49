import type { Clock } from '../clock.js';
import { KeptRefusal } from './kept-refusal.js';
import { KeyChanges } from './key-changes.js';
import { refuses } from './refuses.js';
import { RateLimitStore, type Charge, type Decision, type Operation } from './rate-limit.store.js';

export interface DeniedCacheOptions {
  /** Shared with other processes: what it refuses with the source `'redis'` is kept. */
  readonly store: RateLimitStore;
  /** Goes as fast as the store's time does; the two need not agree on what time it is. */
  readonly clock: Clock;
  /** Nothing is kept longer than this after its reply. Default 1000. */
  readonly maxLifeMs?: number;
  /** Different lists of charges kept at the same time. Default 10 000. */
  readonly maxKeys?: number;
}

/** Costs of one list that are kept apart; with more than these in one life, waits are rounded down. */
const COSTS_KEPT = 4;
/** Keys that are remembered for each list of charges. */
const KEYS_A_LIST = 4;

/**
 * A store around a shared store: what that has refused for a time is refused here for that time,
 * without asking again. `docs/denied-cache.md` argues why this refuses nobody whom it would admit.
 */
export class DeniedCacheStore extends RateLimitStore {
  private readonly store: RateLimitStore;
  private readonly clock: Clock;
  private readonly maxLifeMs: number;
  private readonly maxKeys: number;
  private readonly changes: KeyChanges;
  private readonly kept = new Map<string, readonly KeptRefusal[]>();
  private latest = -Infinity;

  constructor({ store, clock, maxLifeMs = 1_000, maxKeys = 10_000 }: DeniedCacheOptions) {
    super();
    this.store = store;
    this.clock = clock;
    this.maxLifeMs = maxLifeMs;
    this.maxKeys = maxKeys;
    this.changes = new KeyChanges(maxKeys * KEYS_A_LIST);
  }

  /** Lists of charges kept now, those included that are over and not asked for again. */
  get size(): number {
    return this.kept.size;
  }

  override decide(operation: Operation): Promise<readonly Decision[]> {
    switch (operation.verb) {
      case 'consume':
        return this.consume(operation);
      case 'peek':
        return this.store.decide(operation);
      default:
        return this.change(operation);
    }
  }

  override close(): Promise<void> {
    return this.store.close();
  }

  private consume(operation: Operation): Promise<readonly Decision[]> {
    const now = this.now();
    const { charges } = operation;
    const refusal = this.kept.size === 0 ? undefined : this.refusalOf(charges, now);
    return refusal === undefined
      ? this.ask(operation, now)
      : Promise.resolve(refusal.answer(charges, now));
  }

  private ask(operation: Operation, sentAt: number): Promise<readonly Decision[]> {
    const { charges } = operation;
    this.changes.asked(charges);
    const { turn } = this.changes;
    return this.store.decide(operation).then(
      (decisions) => {
        this.changes.asked(charges);
        if (isCertain(charges, decisions)) {
          const times = { sentAt, repliedAt: this.now(), maxLifeMs: this.maxLifeMs };
          this.keep(new KeptRefusal(charges, decisions, times, turn));
        }
        return decisions;
      },
      (error: unknown) => {
        this.changes.asked(charges);
        throw error;
      },
    );
  }

  /** It takes effect at some moment in between, so nothing that was learned before its end holds. */
  private async change(operation: Operation): Promise<readonly Decision[]> {
    this.changes.changed(operation.charges);
    try {
      return await this.store.decide(operation);
    } finally {
      this.changes.changed(operation.charges);
    }
  }

  /** What says the answer to the unit; when many costs are kept already, what says the verdict. */
  private refusalOf(charges: readonly Charge[], now: number): KeptRefusal | undefined {
    let live = 0;
    let covering: KeptRefusal | undefined;
    for (const refusal of this.kept.get(signatureOf(charges)) ?? []) {
      if (!this.holds(refusal, now)) continue;
      live++;
      if (!refusal.covers(charges)) continue;
      if (refusal.isExactFor(charges)) return refusal;
      covering = refusal;
    }
    return live < COSTS_KEPT ? undefined : covering;
  }

  private keep(refusal: KeptRefusal): void {
    const { latest: now } = this;
    if (!this.holds(refusal, now)) return;
    this.changes.watch(refusal.charges);
    const signature = signatureOf(refusal.charges);
    const kept = this.kept.get(signature) ?? [];
    const others = kept.filter((other) => !refusal.hasCostsOf(other)).slice(1 - COSTS_KEPT);
    // Set again, it is the newest; the oldest has the least life left.
    this.kept.delete(signature);
    for (const oldest of this.kept.size >= this.maxKeys ? this.kept.keys() : []) {
      this.kept.delete(oldest);
      break;
    }
    this.kept.set(signature, [...others, refusal]);
  }

  private holds(refusal: KeptRefusal, now: number): boolean {
    return now < refusal.until && !this.changes.anySince(refusal.turn, refusal.charges);
  }

  /** A clock that has gone back cannot tell how long ago anything was. */
  private now(): number {
    const now = this.clock.now();
    if (now < this.latest) {
      this.kept.clear();
      this.changes.forget();
    }
    this.latest = now;
    return now;
  }
}

/** Refused by the shared store. A key that is named twice met what its own call would leave. */
function isCertain(charges: readonly Charge[], decisions: readonly Decision[]): boolean {
  return (
    refuses(decisions, charges) &&
    decisions.every(({ source }) => source === 'redis') &&
    new Set(charges.map(({ key }) => key)).size === charges.length
  );
}

/** Tells lists of charges apart but for their costs. A policy's text has no space in it. */
function signatureOf(charges: readonly Charge[]): string {
  let signature = '';
  for (const { policy, key, isShadow } of charges) {
    signature += `${isShadow === true ? '?' : '!'}${policy.text} ${key.length} ${key}`;
  }
  return signature;
}
