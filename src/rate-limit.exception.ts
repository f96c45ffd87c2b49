import { HttpException } from '@nestjs/common';
import type { Refusal } from './http/problem.js';

/** A request that a tier refused (429), or that could not be decided and fails closed (503). */
export class RateLimitException extends HttpException {
  readonly code: 'RATE_LIMITED' | 'RATE_LIMIT_UNAVAILABLE';

  constructor(
    /** Which tiers refused, and when to come back. */
    readonly refusal: Refusal,
    body: object | string,
  ) {
    super(body, refusal.status);
    this.name = 'RateLimitException';
    this.code = refusal.status === 429 ? 'RATE_LIMITED' : 'RATE_LIMIT_UNAVAILABLE';
  }
}
