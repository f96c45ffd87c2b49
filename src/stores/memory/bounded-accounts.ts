import type { State } from '../../algorithms/algorithm.js';

/** An account and what is needed to choose what to forget. */
interface Kept {
  state: State | undefined;
  blockedUntil: number;
  /** When it is as good as absent. */
  expiresAt: number;
  /** Part of the quota that is free, 0 to 1; what forgetting it would give away is the rest. */
  free: number;
}

/** Entries looked at for each new key: more than one, so expired entries are gone before they pile up. */
const SWEPT_PER_INSERT = 2;
/** Entries that compete for being forgotten when there is no room. */
const CANDIDATES = 16;
/** Part of the quota at which a candidate is taken without looking further: a flood is not to cost more. */
const FREE_ENOUGH = 0.75;

/**
 * At most `maxKeys` accounts, without a timer: each new key sweeps a few old ones. When there is no
 * room, the account with the most free quota among a few is forgotten, but never one that is
 * used up, so that nobody gets out of a refusal by flooding the map with fresh keys.
 */
export class BoundedAccounts {
  private readonly kept = new Map<string, Kept>();
  private cursor = this.kept.entries();

  constructor(private readonly maxKeys: number) {}

  get size(): number {
    return this.kept.size;
  }

  get isFull(): boolean {
    return this.kept.size >= this.maxKeys;
  }

  get(key: string): Kept | undefined {
    return this.kept.get(key);
  }

  /** Whether a new key may be put, after forgetting another for it where that is needed. */
  makeRoom(now: number): boolean {
    if (!this.isFull) {
      this.sweep(now);
      return true;
    }
    let freest: readonly [string, Kept] | undefined;
    for (let looked = 0; looked < CANDIDATES; looked++) {
      const entry = this.next();
      if (entry === undefined) break;
      const [key, account] = entry;
      if (account.expiresAt <= now) {
        this.kept.delete(key);
        return true;
      }
      if (account.free > (freest?.[1].free ?? 0)) freest = entry;
      if (account.free >= FREE_ENOUGH) break;
    }
    return freest !== undefined && this.kept.delete(freest[0]);
  }

  put(key: string, account: Kept): void {
    this.kept.set(key, account);
  }

  /** Changes an account in its place, which costs less than putting it anew. It has no block. */
  renew(account: Kept, state: State, expiresAt: number, free: number): void {
    account.state = state;
    account.blockedUntil = 0;
    account.expiresAt = expiresAt;
    account.free = free;
  }

  delete(key: string): void {
    this.kept.delete(key);
  }

  private sweep(now: number): void {
    for (let looked = 0; looked < SWEPT_PER_INSERT; looked++) {
      const entry = this.next();
      if (entry === undefined) return;
      if (entry[1].expiresAt <= now) this.kept.delete(entry[0]);
    }
  }

  /** The next account in turn, from the first again after the last. */
  private next(): [string, Kept] | undefined {
    let { done, value } = this.cursor.next();
    if (done === true) {
      this.cursor = this.kept.entries();
      ({ done, value } = this.cursor.next());
    }
    return done === true ? undefined : value;
  }
}
