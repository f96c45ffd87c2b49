/** An id that the app's function `option` answered, as text. */
export function checkedId(id: unknown, option: string): string {
  if ((typeof id === 'string' && id !== '') || Number.isSafeInteger(id)) return String(id);
  throw new TypeError(
    `${option} answered an id that is ${typeof id}, expected a non-empty string or a whole number`,
  );
}
