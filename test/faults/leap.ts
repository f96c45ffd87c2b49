import { performance } from 'node:perf_hooks';

/** Moves the monotonic clock of this process on, as an hour's sleep would, until the test ends. */
export function leap(ms: number): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

afterEach(() => jest.restoreAllMocks());
