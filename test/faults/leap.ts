import { performance } from 'node:perf_hooks';

const now = performance.now.bind(performance);
let aheadMs = 0;

/** Moves the monotonic clock of this process on until the test ends. Timers do not notice. */
export function leap(ms: number): void {
  aheadMs += ms;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
}

afterEach(() => {
  aheadMs = 0;
  jest.restoreAllMocks();
});
