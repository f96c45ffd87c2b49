/** How many random traces each algorithm is held to. */
export const TRACES = Number(process.env['SLUICE_TRACES'] ?? 10_000);

/** Traces that run side by side, so that the connection is kept busy. */
const AT_ONCE = 128;

/** What `differencesOf` finds over the seeds from 1 to `count`; it stops soon after the first. */
export async function overSeeds(
  count: number,
  differencesOf: (seed: number) => Promise<unknown[]>,
): Promise<unknown[]> {
  const differences: unknown[] = [];
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= count && differences.length === 0) {
      differences.push(...(await differencesOf(next++)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return differences;
}
