/** By sorted samples; `part` from 0 to 1. */
export function percentile(values, part) {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

export function median(values) {
  const sorted = Float64Array.from(values).toSorted();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Of rounds with the same fields: the median of each field. */
export function medians(rounds) {
  return Object.fromEntries(
    Object.keys(rounds[0]).map((field) => [field, median(rounds.map((round) => round[field]))]),
  );
}

/**
 * The median of the quotients of rounds that stood side by side: what slows the machine for a while
 * slows both.
 */
export function ratio(a, b, field) {
  return median(a.map((round, index) => round[field] / b[index][field]));
}
