/** Milliseconds as whole seconds, rounded up so that a client never comes back too early. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
