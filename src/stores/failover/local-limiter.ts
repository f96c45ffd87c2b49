import type { Clock } from '../../clock.js';
import { shareOf } from '../../policies/define-policy.js';
import type { Policy } from '../../policies/policy.js';
import { RecentMap } from '../../recent-map.js';
import type { MemoryStore } from '../memory/memory.store.js';
import type { Charge, Decision, Verb } from '../rate-limit.store.js';
import { refuses } from '../refuses.js';
import { WindowUnits } from './window-units.js';

/** Keys whose admissions are remembered; one that is not starts an outage with its whole share. */
const REMEMBERED = 100_000;
/** Keys that are owed to the store; what more keys admit is not handed back. */
const MAX_DEBTS = 100_000;

interface Debt {
  readonly charge: Charge;
  readonly units: WindowUnits;
}

/**
 * Limits in this process while the store is away: each policy's share, less what this process has
 * just admitted through the store. What it admits is owed to the store.
 */
export class LocalLimiter {
  private readonly shares = new WeakMap<Policy, Policy>();
  private readonly admitted = new RecentMap<string, WindowUnits>(REMEMBERED);
  private readonly debts = new Map<string, Debt>();

  constructor(
    private readonly memory: MemoryStore,
    private readonly instances: number,
    private readonly clock: Clock,
  ) {}

  /** Keys that are owed to the store. */
  get owed(): number {
    return this.debts.size;
  }

  /** The store has admitted these. */
  noteAdmitted(charges: readonly Charge[], decisions: readonly Decision[]): void {
    const now = this.clock.now();
    for (let index = 0; index < charges.length; index++) {
      const { key, cost, policy } = charges[index]!;
      if (!decisions[index]!.allowed || cost === 0) continue;
      let units = this.admitted.get(key);
      if (units === undefined) {
        units = new WindowUnits(now);
        this.admitted.set(key, units);
      }
      units.add(cost, now, policy.windowMs);
    }
  }

  /**
   * Together, all or none. `isOwed`: the store has surely not charged them, so it is to be told
   * when it is back; of what it may have charged nothing is told, or it would be charged twice.
   */
  decide(verb: Verb, charges: readonly Charge[], isOwed: boolean): readonly Decision[] {
    const now = this.clock.now();
    const shares = charges.map((charge) => ({ ...charge, policy: this.share(charge.policy) }));
    for (const charge of shares) this.seed(charge, now);
    const decisions = this.memory.decideNow({ verb, charges: shares });
    if (isOwed) this.owe(verb, charges, decisions, now);
    return decisions;
  }

  /**
   * What is owed now, no longer owed: of each key what still counts, and no more than its policy can
   * hold.
   */
  takeDebts(most: number): Charge[] {
    const now = this.clock.now();
    const taken: Charge[] = [];
    for (const [key, { charge, units }] of this.debts) {
      if (taken.length === most) break;
      this.debts.delete(key);
      const { policy } = charge;
      const cost = Math.min(units.at(now, policy.windowMs), policy.law.capacity(policy));
      if (cost > 0) taken.push({ ...charge, cost });
    }
    return taken;
  }

  /** Owed again: it was not charged. */
  oweAgain(charge: Charge): void {
    this.addDebt(charge, charge.cost, this.clock.now());
  }

  private owe(
    verb: Verb,
    charges: readonly Charge[],
    decisions: readonly Decision[],
    now: number,
  ): void {
    const isConsumed = verb === 'consume' && !refuses(decisions, charges);
    if (!isConsumed && verb !== 'charge' && verb !== 'refund') return;
    for (const [index, charge] of charges.entries()) {
      if (verb === 'refund') this.debts.get(charge.key)?.units.add(-charge.cost, now, Infinity);
      else if (decisions[index]!.allowed) this.addDebt(charge, charge.cost, now);
    }
  }

  private addDebt(charge: Charge, cost: number, now: number): void {
    if (cost === 0) return;
    let debt = this.debts.get(charge.key);
    if (debt === undefined) {
      if (this.debts.size >= MAX_DEBTS) return;
      debt = { charge, units: new WindowUnits(now) };
      this.debts.set(charge.key, debt);
    }
    debt.units.add(cost, now, charge.policy.windowMs);
  }

  /** What was admitted through the store fills the share, and overdraws nothing. */
  private seed(charge: Charge, now: number): void {
    const admitted = this.admitted.get(charge.key);
    if (admitted === undefined) return;
    this.admitted.delete(charge.key);
    const units = admitted.at(now, charge.policy.windowMs);
    const [standing] = this.memory.decideNow({ verb: 'peek', charges: [{ ...charge, cost: 0 }] });
    const cost = Math.min(units, standing!.remaining);
    if (cost > 0) this.memory.decideNow({ verb: 'charge', charges: [{ ...charge, cost }] });
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
