/** Clocks are read in whole milliseconds, and timers may fire one early. */
const TIMER_MS = 3;

/** What was seen against what the limits promise. */
export class Checks {
  private count = 0;
  private readonly failures: string[] = [];

  equal(what: string, seen: unknown, promised: unknown): void {
    this.holds(`${what}: ${String(seen)}, promised ${String(promised)}`, seen === promised);
  }

  notBefore(what: string, seenMs: number, promisedMs: number): void {
    const sentence = `${what} after ${seenMs} ms, promised ${promisedMs} ms or more`;
    this.holds(sentence, seenMs >= promisedMs - TIMER_MS);
  }

  /** The sentence is shown when it does not hold. */
  holds(sentence: string, does: boolean): void {
    this.count += 1;
    if (!does) this.failures.push(sentence);
  }

  /** Prints the outcome; true when everything held. */
  report(): boolean {
    for (const failure of this.failures) console.log(`NOT AS PROMISED  ${failure}`);
    const held = this.count - this.failures.length;
    console.log(`${held} of ${this.count} checks against the promised limits hold.`);
    return this.failures.length === 0;
  }
}
