/** `; did you mean 'x'?` for the known name nearest to a mistyped one, or nothing when none is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, candidate.length / 3))
    .toSorted((a, b) => a.distance - b.distance);
  return nearest === undefined ? '' : `; did you mean '${nearest.candidate}'?`;
}

/** Levenshtein's: single-character insertions, deletions and substitutions, case aside. */
function editDistance(from: string, to: string): number {
  const target = to.toLowerCase();
  let row = Array.from({ length: target.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(from.toLowerCase().slice(0, 64)).entries()) {
    let diagonal = row[0]!;
    const next = [index + 1];
    for (let column = 1; column <= target.length; column++) {
      const substituted = diagonal + (target[column - 1] === letter ? 0 : 1);
      diagonal = row[column]!;
      next.push(Math.min(substituted, diagonal + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[target.length]!;
}
