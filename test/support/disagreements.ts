import type { AlgorithmName } from '../../src/algorithms/registry.js';
import type { Decision, Operation } from '../../src/stores/rate-limit.store.js';
import { randomTrace } from '../model/trace.js';
import { decideStep, namedPolicies, outcome, sameOutcome } from './steps.js';

/** An engine that answers an operation as of a time; each trace has a key of its own. */
export type Engine = (operation: Operation, t: number) => Promise<readonly Decision[]>;

/** How many random traces each algorithm is held to. */
export const TRACES = Number(process.env['SLUICE_TRACES'] ?? 10_000);

/**
 * The first step of each trace on which an engine and the model differ in any field. Traces run side
 * by side, so that an engine behind a network is kept busy.
 */
export async function disagreements(
  algorithm: AlgorithmName,
  engineFor: (seed: number) => Engine,
): Promise<unknown[]> {
  const found: unknown[] = [];
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= TRACES && found.length === 0) {
      const seed = next++;
      const difference = await firstDifference(algorithm, seed, engineFor(seed));
      if (difference !== undefined) found.push(difference);
    }
  };
  await Promise.all(Array.from({ length: 128 }, worker));
  return found;
}

async function firstDifference(
  algorithm: AlgorithmName,
  seed: number,
  engine: Engine,
): Promise<unknown> {
  const { policies, steps, expected } = randomTrace(seed, algorithm);
  const named = namedPolicies(policies);
  for (const [index, step] of steps.entries()) {
    const [decision] = await engine(decideStep(step, named, `${algorithm}:${seed}`), step.t);
    const answer = outcome(decision!);
    if (!sameOutcome(answer, expected[index]!)) {
      return { seed, index, step, policies, answer, expected: expected[index] };
    }
  }
  return undefined;
}
