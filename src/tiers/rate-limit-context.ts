import type { ExecutionContext } from '@nestjs/common';
import type { Client } from '../identity/client.js';

/** What limits, costs and skips may depend on. */
export interface RateLimitContext {
  /**
   * The platform's request, and at the edge on Fastify Node's; for a gateway its socket, for RPC
   * `{ data, context }`.
   */
  readonly request: any;
  /** Who is asking. In the `edge` phase always an address. */
  readonly client: Client;
  /** Nest's own context; absent in the `edge` phase, which comes before routing. */
  readonly execution?: ExecutionContext;
}

/** A value, or a function of the request that answers it. */
export type Resolvable<T> = T | ((context: RateLimitContext) => T | Promise<T>);
