import type { Account } from '../../algorithms/account.js';
import type { Policy } from '../../policies/policy.js';
import type { Charge } from '../rate-limit.store.js';
import { KeptAccount } from './kept-account.js';

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
  private readonly kept = new Map<string, KeptAccount>();
  private cursor = this.kept.entries();

  constructor(private readonly maxKeys: number) {}

  get size(): number {
    return this.kept.size;
  }

  get isFull(): boolean {
    return this.kept.size >= this.maxKeys;
  }

  get(key: string): KeptAccount | undefined {
    return this.kept.get(key);
  }

  /** The same without a look at the key, where the charge remembers what was found. */
  find({ key, memo }: Charge): KeptAccount | undefined {
    const found = memo?.found;
    if (found instanceof KeptAccount && found.keeper === this) return found;
    const account = this.kept.get(key);
    if (memo !== undefined) memo.found = account;
    return account;
  }

  /** Whether a new key may be put, after forgetting another for it where that is needed. */
  makeRoom(now: number): boolean {
    if (!this.isFull) {
      this.sweep(now);
      return true;
    }
    let freest: string | undefined;
    let most = 0;
    for (let looked = 0; looked < CANDIDATES; looked++) {
      const entry = this.next();
      if (entry === undefined) break;
      const [key, account] = entry;
      const free = account.freePart(now);
      if (free <= most) continue;
      freest = key;
      most = free;
      if (free >= FREE_ENOUGH) break;
    }
    if (freest === undefined) return false;
    this.delete(freest);
    return true;
  }

  put(
    key: string,
    policy: Policy,
    { state, blockedUntil }: Account,
    { isOverflow }: { isOverflow: boolean },
  ): void {
    const known = this.kept.get(key);
    if (known === undefined) {
      this.kept.set(key, new KeptAccount(this, policy, state, blockedUntil, isOverflow));
    } else {
      known.policy = policy;
      known.state = state;
      known.blockedUntil = blockedUntil;
    }
  }

  delete(key: string): void {
    const account = this.kept.get(key);
    if (account === undefined) return;
    account.keeper = undefined;
    this.kept.delete(key);
  }

  private sweep(now: number): void {
    for (let looked = 0; looked < SWEPT_PER_INSERT; looked++) {
      const entry = this.next();
      if (entry === undefined) return;
      if (entry[1].isOver(now)) this.delete(entry[0]);
    }
  }

  /** The next account in turn, from the first again after the last. */
  private next(): [string, KeptAccount] | undefined {
    let { done, value } = this.cursor.next();
    if (done === true) {
      this.cursor = this.kept.entries();
      ({ done, value } = this.cursor.next());
    }
    return done === true ? undefined : value;
  }
}
