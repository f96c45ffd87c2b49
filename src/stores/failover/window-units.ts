/** Units of one key, as far as they still count: those of a window, and a share of the one before. */
export class WindowUnits {
  private before = 0;
  private units = 0;

  constructor(private since: number) {}

  add(units: number, now: number, windowMs: number): void {
    const elapsed = now - this.since;
    if (elapsed >= windowMs) {
      this.before = elapsed < 2 * windowMs ? this.units : 0;
      this.units = 0;
      this.since = now - (elapsed % windowMs);
    }
    this.units = Math.max(0, this.units + units);
  }

  /** Rounded up. */
  at(now: number, windowMs: number): number {
    const elapsed = now - this.since;
    if (elapsed >= 2 * windowMs) return 0;
    const [recent, earlier] = elapsed < windowMs ? [this.units, this.before] : [0, this.units];
    return recent + Math.ceil((earlier * (windowMs - (elapsed % windowMs))) / windowMs);
  }
}
