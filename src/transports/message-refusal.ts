import type { Refusal } from '../http/problem.js';

/** What a refused message is answered with, where there is no status and no header. */
export function messageRefusal(
  refusal: Refusal,
  body: object | string,
): Record<string, unknown> & { readonly code: unknown } {
  const code = refusal.status === 429 ? 'RATE_LIMITED' : 'RATE_LIMIT_UNAVAILABLE';
  return typeof body === 'string' ? { code, message: body } : { code, ...body };
}
