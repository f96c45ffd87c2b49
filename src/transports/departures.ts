/** The part of sockets of all kinds that tells when they have closed. */
export interface Departing {
  readonly destroyed?: boolean;
  once(event: string, listener: () => void): unknown;
}

const waiting = new WeakMap<object, Set<() => void>>();

/**
 * Calls back once when a connection has closed; answers how to stop listening. There is one
 * listener however many messages wait on the connection, or Node would warn of a leak.
 */
export function onDeparture(
  connection: Departing | undefined,
  event: string,
  callback: () => void,
): () => void {
  if (connection === undefined) return () => undefined;
  // One that has gone already says so no more.
  if (connection.destroyed === true) callback();
  let callbacks = waiting.get(connection);
  if (callbacks === undefined) {
    callbacks = new Set();
    waiting.set(connection, callbacks);
    connection.once(event, tellAll(callbacks));
  }
  const own = callbacks.add(callback);
  return () => own.delete(callback);
}

function tellAll(callbacks: ReadonlySet<() => void>): () => void {
  return () => callbacks.forEach((callback) => callback());
}
