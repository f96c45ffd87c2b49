/** How far a server's clock may run away from ours: 200 ms in 1000 s. */
const DRIFT = 0.0002;

/**
 * What is known of a server's clock, from when it was asked, when its answer came, and what that
 * said. The estimate is never ahead of the truth: a deadline told in the server's time is then never
 * later than ours.
 */
export class ServerTime {
  /** The server's clock less ours, at least. */
  private offset = -Infinity;
  private learnedAt = 0;

  /** All in whole milliseconds, rounded down. */
  learn(sentAt: number, repliedAt: number, serverMs: number): void {
    const least = serverMs - (repliedAt + 1);
    const most = serverMs + 1 - sentAt;
    const known = this.offsetAt(repliedAt);
    // Over the most that it can be: the server's clock was put back, or it is another server.
    if (least >= known || known > most) {
      this.offset = least;
      this.learnedAt = repliedAt;
    }
  }

  /** Server milliseconds that have surely not passed when our clock says `at`; undefined if unknown. */
  at(at: number): number | undefined {
    const known = this.offsetAt(at);
    return known === -Infinity ? undefined : Math.floor(at + known) - 1;
  }

  private offsetAt(at: number): number {
    return this.offset - Math.max(0, at - this.learnedAt) * DRIFT;
  }
}
