import type { Clock } from '../../clock.js';
import { shareOf } from '../../policies/define-policy.js';
import type { Policy } from '../../policies/policy.js';
import { RecentMap } from '../../recent-map.js';
import type { MemoryStore } from '../memory/memory.store.js';
import type { Charge, Decision, Operation, Verb } from '../rate-limit.store.js';
import { refuses } from '../refuses.js';
import { CountedUnits } from './counted-units.js';

/** Keys whose admissions are remembered; one that is not starts an outage with its whole share. */
const REMEMBERED = 100_000;
/** Keys that are owed to the store; what more keys admit is not handed back. */
const MAX_DEBTS = 100_000;

/** What a key was told to be while the store was away; the end of a block, where it is one. */
interface Order {
  readonly verb: OrderVerb;
  readonly charge: Charge;
  readonly blockedUntil: number;
}
type OrderVerb = 'block' | 'unblock' | 'reset';

/** Of one key. */
export interface Debt {
  readonly charge: Charge;
  readonly units: CountedUnits;
}

/**
 * Limits in this process while the store is away: each policy's share, less what this process has
 * just admitted through the store. What it admits is owed to the store.
 */
export class LocalLimiter {
  private readonly shares = new WeakMap<Policy, Policy>();
  private readonly admitted = new RecentMap<string, CountedUnits>(REMEMBERED);
  private readonly debts = new Map<string, Debt>();
  private readonly orders = new Map<string, Order>();

  constructor(
    private readonly memory: MemoryStore,
    private readonly instances: number,
    private readonly clock: Clock,
  ) {}

  /** Keys that are owed to the store: their charges, or what they were told to be. */
  get owed(): number {
    return this.debts.size + this.orders.size;
  }

  /** The store has decided these. What it admits counts here too, if it goes away. */
  noteDecided({ verb, charges }: Operation, decisions: readonly Decision[]): void {
    const now = this.clock.now();
    switch (verb) {
      case 'peek':
        return;
      case 'consume':
        if (refuses(decisions, charges)) return;
        for (let index = 0; index < charges.length; index++) {
          if (decisions[index]!.allowed) this.noteUnits(charges[index]!, charges[index]!.cost, now);
        }
        return;
      case 'charge':
        for (const charge of charges) this.noteUnits(charge, charge.cost, now);
        return;
      case 'refund':
        for (const charge of charges) this.noteUnits(charge, -charge.cost, now);
        return;
      default:
        for (const { key } of charges) this.orders.delete(key);
        this.decideByShares(verb, charges);
    }
  }

  /**
   * To block, unblock or reset a key twice is to do it once, so the store is told of it also where it
   * may have done it. Of each key the last holds.
   */
  order(verb: Verb, charges: readonly Charge[]): void {
    if (verb !== 'block' && verb !== 'unblock' && verb !== 'reset') return;
    const now = this.clock.now();
    for (const charge of charges) {
      const { key, cost } = charge;
      if (!this.orders.has(key) && this.orders.size >= MAX_DEBTS) return;
      this.orders.set(key, { verb, charge, blockedUntil: now + cost });
    }
  }

  /** Calls `tell` with each order, until one fails; that and the rest are owed still. */
  async tellOrders(tell: (operation: Operation) => Promise<unknown>): Promise<boolean> {
    for (const [key, order] of this.orders) {
      const cost = order.blockedUntil - this.clock.now();
      try {
        const { verb, charge } = order;
        if (verb !== 'block') await tell({ verb, charges: [charge] });
        else if (cost > 0) await tell({ verb, charges: [{ ...charge, cost }] });
      } catch {
        return false;
      }
      if (this.orders.get(key) === order) this.orders.delete(key);
    }
    return true;
  }

  /**
   * Together, all or none. `isOwed`: the store has surely not charged them, so it is to be told
   * when it is back; of what it may have charged nothing is told, or it would be charged twice.
   */
  decide(verb: Verb, charges: readonly Charge[], isOwed: boolean): readonly Decision[] {
    const now = this.clock.now();
    for (const charge of charges) this.seed(charge, now);
    const decisions = this.decideByShares(verb, charges);
    if (isOwed) this.owe(verb, charges, decisions, now);
    return decisions;
  }

  /**
   * What is owed now, no longer owed: of each key what still counts, and no more than its policy can
   * hold.
   */
  takeDebts(most: number): Debt[] {
    const now = this.clock.now();
    const taken: Debt[] = [];
    for (const [key, { charge, units }] of this.debts) {
      if (taken.length === most) break;
      this.debts.delete(key);
      const { policy } = charge;
      const cost = Math.min(units.at(policy, now), policy.law.capacity(policy));
      if (cost > 0) taken.push({ charge: { ...charge, cost }, units });
    }
    return taken;
  }

  /** Owed again, as old as it is: it was not charged. */
  oweAgain({ charge, units }: Debt): void {
    const { key, policy } = charge;
    const since = this.debts.get(key);
    if (since === undefined && this.debts.size >= MAX_DEBTS) return;
    const now = this.clock.now();
    if (since !== undefined) units.add(policy, since.units.at(policy, now), now);
    this.debts.set(key, { charge: since?.charge ?? charge, units });
  }

  /** By the shares; a reset also ends what is known of its keys otherwise. */
  private decideByShares(verb: Verb, charges: readonly Charge[]): readonly Decision[] {
    if (verb === 'reset') {
      for (const { key } of charges) {
        this.admitted.delete(key);
        this.debts.delete(key);
      }
    }
    const shares = charges.map((charge) => ({ ...charge, policy: this.share(charge.policy) }));
    return this.memory.decideNow({ verb, charges: shares });
  }

  private noteUnits({ key, policy }: Charge, cost: number, now: number): void {
    if (cost === 0) return;
    let units = this.admitted.get(key);
    if (units === undefined) {
      if (cost < 0) return;
      units = new CountedUnits();
      this.admitted.set(key, units);
    }
    units.add(policy, cost, now);
  }

  private owe(
    verb: Verb,
    charges: readonly Charge[],
    decisions: readonly Decision[],
    now: number,
  ): void {
    const isConsumed = verb === 'consume' && !refuses(decisions, charges);
    for (const [index, charge] of charges.entries()) {
      const { key, policy, cost } = charge;
      if (verb === 'refund') this.debts.get(key)?.units.add(policy, -cost, now);
      else if (verb === 'charge' || (isConsumed && decisions[index]!.allowed)) {
        this.addDebt(charge, now);
      }
    }
  }

  private addDebt(charge: Charge, now: number): void {
    const { key, policy, cost } = charge;
    if (cost === 0) return;
    const known = this.debts.get(key);
    if (known === undefined && this.debts.size >= MAX_DEBTS) return;
    const units = known?.units ?? new CountedUnits();
    units.add(policy, cost, now);
    // By the numbers that hold now.
    this.debts.set(key, { charge, units });
  }

  /** What was admitted through the store fills the share, and overdraws nothing. */
  private seed({ key, policy, ...charge }: Charge, now: number): void {
    const admitted = this.admitted.get(key);
    if (admitted === undefined) return;
    this.admitted.delete(key);
    const share = { ...charge, key, policy: this.share(policy) };
    const [standing] = this.memory.decideNow({ verb: 'peek', charges: [{ ...share, cost: 0 }] });
    const cost = Math.min(admitted.at(policy, now), standing!.remaining);
    if (cost > 0) this.memory.decideNow({ verb: 'charge', charges: [{ ...share, cost }] });
  }

  private share(policy: Policy): Policy {
    let share = this.shares.get(policy);
    if (share === undefined) {
      share = shareOf(policy, this.instances);
      this.shares.set(policy, share);
    }
    return share;
  }
}
