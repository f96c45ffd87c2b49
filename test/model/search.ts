/**
 * The first n ≥ 0 for which `holds(n)`. It must be a question that, once answered with yes, is
 * answered with yes for every later n; the specs check that against a linear scan.
 */
export function first(holds: (n: bigint) => boolean): bigint {
  if (holds(0n)) {
    return 0n;
  }
  let no = 0n;
  let yes = 1n;
  while (!holds(yes)) {
    no = yes;
    yes *= 2n;
    if (yes > 2n ** 64n) {
      throw new Error('the search found no end: the state never recovers');
    }
  }
  while (yes - no > 1n) {
    const middle = (no + yes) / 2n;
    if (holds(middle)) {
      yes = middle;
    } else {
      no = middle;
    }
  }
  return yes;
}

/** The largest n in 1…most for which `holds(n)`, or 0; every smaller n must hold too. */
export function last(most: bigint, holds: (n: bigint) => boolean): bigint {
  return first((n) => n >= most || !holds(n + 1n));
}
