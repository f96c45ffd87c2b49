import type { Charge } from './rate-limit.store.js';

interface Known {
  /** The numbers that it was last asked under; undefined while nothing is kept of it. */
  text: string | undefined;
  /** The turn of its last change. */
  changedAt: number;
}

/**
 * Which keys were changed otherwise than by a charge that passed, counted in turns: refunded, reset,
 * blocked, or asked under other numbers, which may move a bucket on at another rate.
 */
export class KeyChanges {
  private readonly known = new Map<string, Known>();
  private changes = 0;
  private allChangedAt = 0;

  constructor(private readonly maxKeys: number) {}

  /** Later changes have a higher one. */
  get turn(): number {
    return this.changes;
  }

  changed(charges: readonly Charge[]): void {
    for (const { key } of charges) this.of(key).changedAt = ++this.changes;
  }

  /** To be told of every consume on its way out and back. */
  asked(charges: readonly Charge[]): void {
    if (this.known.size === 0) return;
    for (const { key, policy } of charges) {
      const known = this.known.get(key);
      if (known?.text === undefined || known.text === policy.text) continue;
      known.text = policy.text;
      known.changedAt = ++this.changes;
    }
  }

  /** From now on these keys are known under these numbers. */
  watch(charges: readonly Charge[]): void {
    for (const { key, policy } of charges) this.of(key).text = policy.text;
  }

  anySince(turn: number, charges: readonly Charge[]): boolean {
    if (turn === this.changes) return false;
    if (turn < this.allChangedAt) return true;
    return charges.some(({ key }) => (this.known.get(key)?.changedAt ?? 0) > turn);
  }

  /** What is forgotten counts as changed. */
  forget(): void {
    this.known.clear();
    this.allChangedAt = ++this.changes;
  }

  private of(key: string): Known {
    let known = this.known.get(key);
    if (known === undefined) {
      if (this.known.size >= this.maxKeys) this.forget();
      known = { text: undefined, changedAt: 0 };
      this.known.set(key, known);
    }
    return known;
  }
}
