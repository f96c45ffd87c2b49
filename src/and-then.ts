/** Goes on at once with what is known, and later with what is not yet. */
export function andThen<T, U>(
  value: T | Promise<T>,
  next: (known: T) => U | Promise<U>,
): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
