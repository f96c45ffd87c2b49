const carriers = new WeakMap<object, WeakMap<object, object>>();

/** One object for a message and a handler: each handler that a message reaches is charged for. */
export function perHandler(message: object, handler: object): object {
  let ofMessage = carriers.get(message);
  if (ofMessage === undefined) {
    ofMessage = new WeakMap();
    carriers.set(message, ofMessage);
  }
  let carrier = ofMessage.get(handler);
  if (carrier === undefined) {
    carrier = {};
    ofMessage.set(handler, carrier);
  }
  return carrier;
}
