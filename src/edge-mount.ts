import type { AbstractHttpAdapter } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { corsFirst, type Middleware, type Next } from './cors-first.js';
import type { Caller } from './identity/request-identity.js';
import { httpCaller, type HttpRequest } from './transports/http.transport.js';

/** Decides a request, and answers it when it does not go on: true then. */
export type EdgeDecision = (
  caller: Caller,
  request: HttpRequest,
  response: ServerResponse,
) => Promise<boolean>;

/** The part of Fastify that is used. */
interface FastifyLike {
  addHook(
    name: 'onRequest' | 'preHandler',
    hook: (request: FastifyRequest, reply: { readonly raw: ServerResponse }, next: Next) => void,
  ): void;
}
type FastifyRequest = HttpRequest & { readonly raw: IncomingMessage };

/** Puts a decision ahead of all that an app mounts but CORS: of middleware, parsers and routes. */
export function mountEdge(httpAdapter: AbstractHttpAdapter, isRefused: EdgeDecision): void {
  if (httpAdapter.getType() === 'fastify') return mountOnFastify(httpAdapter, isRefused);
  httpAdapter.use(corsFirst(httpAdapter));
  httpAdapter.use(((request, response, next) => {
    goOn(isRefused(httpCaller(request), request, response), next);
  }) satisfies Middleware);
}

/**
 * As the first middleware, because every hook that is added now runs after all of them. Middleware
 * sees Node's request, guards Fastify's: what they put on it is looked for there.
 */
function mountOnFastify(httpAdapter: AbstractHttpAdapter, isRefused: EdgeDecision): void {
  const fastify: FastifyLike = httpAdapter.getInstance();
  const callers = new WeakMap<IncomingMessage, { request: unknown }>();
  try {
    httpAdapter.use(((request, response, next) => {
      const caller = httpCaller(request);
      callers.set(request, caller);
      goOn(isRefused(caller, request, response), next);
    }) satisfies Middleware);
  } catch {
    // The app has no middleware to be ahead of (`skipMiddie`), so a hook comes first.
    fastify.addHook('onRequest', (request, { raw }, next) => {
      goOn(isRefused(httpCaller(request), request, raw), next);
    });
    return;
  }
  fastify.addHook('preHandler', (request, _reply, next) => {
    const caller = callers.get(request.raw);
    if (caller !== undefined) caller.request = request;
    next();
  });
}

function goOn(deciding: Promise<boolean>, next: Next): void {
  deciding.then((isRefused) => {
    if (!isRefused) next();
  }, next);
}
