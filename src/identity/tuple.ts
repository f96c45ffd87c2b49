/** Parts with their lengths in front: `['a', 'b']` and `['a1:b']` stay apart. */
export function tuple(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join('');
}
