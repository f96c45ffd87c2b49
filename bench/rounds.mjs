import { medians } from './statistics.mjs';

/**
 * A B C, A B C, …: each contender once a round, after one round that is not counted. Answers, by
 * name, the rounds and their medians.
 */
export async function alternate(contenders, rounds, measureOne) {
  const measured = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const contender of contenders) {
      const result = await measureOne(contender);
      if (round > 0) measured[contender.name].push(result);
    }
  }
  return Object.fromEntries(
    Object.entries(measured).map(([name, counted]) => [
      name,
      { medians: medians(counted), rounds: counted },
    ]),
  );
}
