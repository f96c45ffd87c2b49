import type { Refusal } from '../http/problem.js';
import { retryHeaders } from '../http/retry-after.js';
import { RateLimitException } from '../rate-limit.exception.js';
import { messageRefusal } from './message-refusal.js';

/**
 * What graphql-js makes an error of: `extensions` are sent as they are. Apollo and Yoga take the
 * status and the headers of an HTTP answer from `extensions.http`, and send it to nobody.
 */
export function graphqlRefusal(
  refusal: Refusal,
  body: object | string,
  isHttp: boolean,
): RateLimitException {
  const { status, retryAfterMs } = refusal;
  // By a statusCode Nest's Apollo driver knows an HttpException, whose code it replaces by
  // INTERNAL_SERVER_ERROR. The message has a place of its own in an error.
  const { message, statusCode: _statusCode, ...facts } = messageRefusal(refusal, body);
  const told =
    typeof body === 'string' ? body : { ...facts, ...(message !== undefined && { message }) };
  const http = isHttp && { http: { status, headers: new Map(retryHeaders(retryAfterMs)) } };
  return Object.assign(new RateLimitException(refusal, told), {
    extensions: { status, ...facts, ...http },
  });
}
