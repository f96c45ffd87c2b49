import type { ExecutionContext } from '@nestjs/common';
import type { HttpHeader } from '../http/rate-limit-headers.js';
import type { Refusal } from '../http/problem.js';
import type { Caller } from '../identity/request-identity.js';

/** How one kind of context tells who is calling, and how it is answered. */
export interface Transport {
  caller(context: ExecutionContext): Caller;
  /** Path of the request, without its query, where there is one. */
  path(context: ExecutionContext): string | undefined;
  /** Does nothing where there are no headers, or where they have been sent. */
  setHeaders(context: ExecutionContext, headers: readonly HttpHeader[]): void;
  /** The error by which this transport refuses. */
  refuse(context: ExecutionContext, refusal: Refusal, body: object | string): Promise<Error>;
  /** Calls back once when the caller has gone; answers how to stop listening. */
  onGone(context: ExecutionContext, callback: () => void): () => void;
}

export const nobodyLeaves = (): (() => void) => () => undefined;
