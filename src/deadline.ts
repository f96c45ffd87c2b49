/** A promise did not settle in time. What it stood for may still happen. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(
    readonly what: string,
    readonly timeoutMs: number,
  ) {
    super(`${what} did not answer within ${timeoutMs} ms`);
  }
}

/**
 * The promise, or a DeadlineError after `timeoutMs`. Fair to an answer that is there already but
 * waits behind a blocked event loop: the timer gives it two turns before it speaks.
 */
export function withDeadline<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => setImmediate(() => reject(new DeadlineError(what, timeoutMs))));
    }, timeoutMs);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** What is known, or `withDeadline` what is not yet. */
export function inTime<T>(answer: T | Promise<T>, timeoutMs: number, what: string): T | Promise<T> {
  return answer instanceof Promise ? withDeadline(answer, timeoutMs, what) : answer;
}
