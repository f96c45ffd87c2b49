/**
 * What an app's function answered, if it has to be waited for: promises of other libraries and
 * realms too, which `instanceof` does not know. Undefined for what is an answer already.
 */
export function asPromise<T>(answer: T | PromiseLike<T>): Promise<T> | undefined {
  const isThenable =
    typeof answer === 'object' &&
    answer !== null &&
    typeof (answer as Partial<PromiseLike<T>>).then === 'function';
  return isThenable ? Promise.resolve(answer) : undefined;
}
