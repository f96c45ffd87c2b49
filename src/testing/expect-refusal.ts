import { AssertionError } from 'node:assert';

/** A response of supertest, of Fastify's `inject`, or of `fetch` once its body is read. */
export interface RefusedResponse {
  readonly status?: number;
  readonly statusCode?: number;
  readonly headers: object;
}

export interface ExpectedRefusal {
  /** 429 by default; 503 for a tier that fails closed. */
  status?: 429 | 503;
  /** What `Retry-After` has to say, in whole seconds. */
  retryAfter?: number;
}

/**
 * Throws an AssertionError that says what came instead, unless the response is a refusal: status,
 * `Retry-After` of 1 or more and `Cache-Control: no-store`. Works with any test runner.
 *
 * @example
 * expectRefusal(await request(server).get('/search'), { retryAfter: 6 });
 */
export function expectRefusal(
  response: RefusedResponse,
  { status: expected = 429, retryAfter }: ExpectedRefusal = {},
): void {
  const status = response.status ?? response.statusCode;
  check(status === expected, `status ${status}`, `status ${expected}`);
  const seconds = headerOf(response, 'retry-after');
  check(
    seconds !== undefined && /^[1-9][0-9]*$/.test(seconds),
    `Retry-After: ${seconds}`,
    'Retry-After in whole seconds, 1 or more',
  );
  if (retryAfter !== undefined) {
    check(Number(seconds) === retryAfter, `Retry-After: ${seconds}`, `Retry-After: ${retryAfter}`);
  }
  const caching = headerOf(response, 'cache-control');
  check(caching === 'no-store', `Cache-Control: ${caching}`, 'Cache-Control: no-store');
}

function headerOf({ headers }: RefusedResponse, name: string): string | undefined {
  const value: unknown =
    'get' in headers && typeof headers.get === 'function'
      ? (headers as { get(name: string): unknown }).get(name)
      : (headers as Record<string, unknown>)[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function check(holds: boolean, actual: string, expected: string): void {
  if (holds) return;
  throw new AssertionError({
    message: `expected a refusal with ${expected}, received ${actual}`,
    actual,
    expected,
    operator: 'expectRefusal',
  });
}
