import { RateLimitException } from '../rate-limit.exception.js';
import { nobodyLeaves, type Transport } from './transport.js';

/** A context of a kind that we do not know: no caller, no headers, and Nest's own way to refuse. */
export const silentTransport: Transport = {
  caller: () => ({ request: undefined, ip: undefined, peer: undefined, headers: {} }),
  path: () => undefined,
  setHeaders: () => undefined,
  refuse: (_context, refusal, body) => Promise.resolve(new RateLimitException(refusal, body)),
  onGone: nobodyLeaves,
};
