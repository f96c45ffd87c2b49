import {
  remaining,
  resetAfterMs,
  standingAt,
  trimmed,
  waitMs,
  type Account,
  type Standing,
} from '../../algorithms/account.js';
import { monotonicClock, type Clock } from '../../clock.js';
import type { Policy } from '../../policies/policy.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type DecisionSource,
  type Operation,
} from '../rate-limit.store.js';
import { BoundedAccounts } from './bounded-accounts.js';

export interface MemoryStoreOptions {
  /** Default: the wall clock at start, monotonic from there. */
  clock?: Clock;
  /** Keys kept at the same time. Default 1 000 000. */
  maxKeys?: number;
  /** What its decisions name as their source. Default `'memory'`. */
  source?: DecisionSource;
}

/** In front of the key that counts all the keys of a policy there is no room for. */
const OVERFLOW = 'overflow ';

const NO_ACCOUNT: Account = { state: undefined, blockedUntil: 0 };

/** Counters in this process: the store when no Redis is configured, and the fallback of one. */
export class MemoryStore extends RateLimitStore {
  private readonly clock: Clock;
  private readonly accounts: BoundedAccounts;
  private readonly source: DecisionSource;

  constructor({
    clock = monotonicClock,
    maxKeys = 1_000_000,
    source = 'memory',
  }: MemoryStoreOptions = {}) {
    super();
    this.clock = clock;
    this.accounts = new BoundedAccounts(maxKeys);
    this.source = source;
  }

  /** Keys kept now, expired ones that no request has swept yet included. */
  get size(): number {
    return this.accounts.size;
  }

  decide(operation: Operation): Promise<readonly Decision[]> {
    return Promise.resolve(this.decideNow(operation));
  }

  /** The same without a promise: nothing here waits. */
  decideNow({ verb, charges }: Operation): readonly Decision[] {
    if (verb === 'consume' && charges.length === 1) return [this.consumeNow(charges[0]!)];
    const now = this.clock.now();
    switch (verb) {
      case 'consume':
        return this.decideTogether(charges, now, false);
      case 'peek':
        return this.decideTogether(charges, now, true);
      case 'charge':
      case 'refund':
        return charges.map((charge) => this.move(charge, now, verb));
      case 'block':
        return charges.map((charge) => this.setBlock(charge, now, now + charge.cost));
      case 'unblock':
        return charges.map((charge) => this.setBlock(charge, now, 0));
      case 'reset':
        return charges.map((charge) => {
          this.accounts.delete(charge.key);
          return this.nextDecision(charge, now);
        });
    }
  }

  /** What most calls are, without the lists that several charges need. */
  override consumeNow(charge: Charge): Decision {
    const now = this.clock.now();
    const { policy, cost } = charge;
    const { law } = policy;
    let home = charge.key;
    let account = this.accounts.find(charge);
    if (account === undefined) {
      home = this.homeOf(charge, now);
      account = this.accounts.get(home);
    }
    const standing = standingAt(law, policy, account ?? NO_ACCOUNT, now);
    const wait = waitMs(law, policy, standing, cost);
    if (wait > 0 || cost === 0) {
      if (standing.needsRepair) this.repair(home, policy, now);
      return this.decision(policy, standing, wait, 0);
    }
    const delayMs = law.delayMs(policy, standing.state);
    const state = law.charge(policy, standing.state, cost, standing.now);
    const kept = law.keep(account?.state, state);
    if (account === undefined) {
      const isOverflow = home !== charge.key;
      this.accounts.put(home, policy, { state: kept, blockedUntil: 0 }, { isOverflow });
    } else {
      // Changed in its place: to put it anew costs more. What is blocked is not charged.
      account.policy = policy;
      account.state = kept;
      account.blockedUntil = 0;
    }
    const restMs = law.resetAfterMs(policy, state, standing.now);
    return {
      policy: policy.name,
      allowed: true,
      limit: policy.limit,
      remaining: law.remaining(policy, state, standing.now),
      retryAfterMs: 0,
      resetAfterMs: restMs > 0 ? restMs + standing.behindMs : 0,
      delayMs,
      source: this.source,
    };
  }

  /**
   * Every charge is decided on what the ones before it would leave; then all are charged or none.
   * Nothing is written before all are decided.
   */
  private decideTogether(
    charges: readonly Charge[],
    now: number,
    isPeek: boolean,
  ): readonly Decision[] {
    const homes = charges.map((charge) =>
      isPeek ? this.presentHomeOf(charge) : this.homeOf(charge, now),
    );
    const tentative = new Map<string, Account>();
    const waits: number[] = [];
    const delays: number[] = [];
    let isRefused = false;

    for (const [index, { policy, cost, isShadow }] of charges.entries()) {
      const home = homes[index]!;
      const account = tentative.get(home) ?? this.accountAt(home);
      const standing = standingAt(policy.law, policy, account, now);
      const wait = waitMs(policy.law, policy, standing, cost);
      waits.push(wait);
      delays.push(wait === 0 && cost > 0 ? policy.law.delayMs(policy, standing.state) : 0);
      if (wait > 0) isRefused ||= isShadow !== true;
      else if (cost > 0) {
        const state = policy.law.charge(policy, standing.state, cost, standing.now);
        tentative.set(home, { state, blockedUntil: account.blockedUntil });
      }
    }

    const isCharged = !isPeek && !isRefused;
    for (const [index, { policy }] of charges.entries()) {
      const home = homes[index]!;
      const charged = isCharged ? tentative.get(home) : undefined;
      if (charged !== undefined) this.put(home, policy, charged, now);
      else if (!isPeek) this.repair(home, policy, now);
    }
    return charges.map(({ policy }, index) => {
      const standing = this.standing(homes[index]!, policy, now);
      return this.decision(policy, standing, waits[index]!, delays[index]!);
    });
  }

  private move(charge: Charge, now: number, verb: 'charge' | 'refund'): Decision {
    const { policy, cost } = charge;
    const home = this.homeOf(charge, now);
    const standing = this.standing(home, policy, now);
    const state = policy.law[verb](policy, standing.state, cost, standing.now);
    if (cost > 0 && state !== standing.state) {
      this.put(home, policy, { state, blockedUntil: this.accountAt(home).blockedUntil }, now);
    } else this.repair(home, policy, now);
    return this.decision(policy, this.standing(home, policy, now), 0, 0);
  }

  private setBlock(charge: Charge, now: number, blockedUntil: number): Decision {
    const home = this.homeOf(charge, now);
    const { state } = this.accountAt(home);
    this.put(home, charge.policy, { state, blockedUntil }, now);
    return this.nextDecision({ ...charge, key: home }, now);
  }

  private nextDecision({ policy, key }: Charge, now: number): Decision {
    const standing = this.standing(key, policy, now);
    const wait = waitMs(policy.law, policy, standing, 1);
    const delayMs = wait === 0 ? policy.law.delayMs(policy, standing.state) : 0;
    return this.decision(policy, standing, wait, delayMs);
  }

  /** Where a charge is counted: its key, or one bucket for all the keys there is no room for. */
  private homeOf({ key, policy }: Charge, now: number): string {
    if (this.accounts.get(key) !== undefined || this.accounts.makeRoom(now)) return key;
    return overflowOf(policy);
  }

  /** The same for a peek, which makes no room: where there is none, a new key meets the overflow. */
  private presentHomeOf({ key, policy }: Charge): string {
    if (this.accounts.get(key) !== undefined || !this.accounts.isFull) return key;
    const overflow = overflowOf(policy);
    return this.accounts.get(overflow) === undefined ? key : overflow;
  }

  private accountAt(key: string): Account {
    return this.accounts.get(key) ?? NO_ACCOUNT;
  }

  private standing(key: string, policy: Policy, now: number): Standing {
    return standingAt(policy.law, policy, this.accountAt(key), now);
  }

  private repair(key: string, policy: Policy, now: number): void {
    const account = this.accountAt(key);
    if (account.state === undefined) return;
    const { state, needsRepair } = standingAt(policy.law, policy, account, now);
    if (needsRepair) this.put(key, policy, { ...account, state }, now);
  }

  private put(key: string, policy: Policy, account: Account, now: number): void {
    const kept = trimmed(policy.law, policy, account, now);
    if (kept.state === undefined && kept.blockedUntil === 0) this.accounts.delete(key);
    else this.accounts.put(key, policy, kept, { isOverflow: key.startsWith(OVERFLOW) });
  }

  private decision(policy: Policy, standing: Standing, wait: number, delayMs: number): Decision {
    return {
      policy: policy.name,
      allowed: wait === 0,
      limit: policy.limit,
      remaining: remaining(policy.law, policy, standing),
      retryAfterMs: wait,
      resetAfterMs: resetAfterMs(policy.law, policy, standing),
      delayMs,
      source: this.source,
    };
  }
}

function overflowOf(policy: Policy): string {
  return `${OVERFLOW}${policy.name} ${policy.text}`;
}
