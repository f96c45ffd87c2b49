import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a platform does with a request that goes on, or that fails. */
export type Next = (error?: unknown) => void;

export type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void;

/** The part of Express's adapter that mounts CORS. */
interface CorsAdapter {
  use(middleware: Middleware): unknown;
  enableCors(...options: unknown[]): unknown;
}

/**
 * A place for the CORS of an app on Express, which `enableCors` would mount behind everything that
 * was mounted before it. What is returned runs it where it is mounted instead, so that a browser may
 * read what comes after it, and preflights end there, as they do on Fastify.
 */
export function corsFirst(adapter: CorsAdapter): Middleware {
  const mounted: Middleware[] = [];
  const place: CorsAdapter = Object.create(adapter, {
    use: { value: (middleware: Middleware) => mounted.push(middleware) },
  });
  // An adapter that mounts CORS by other means than `use` mounts it where it always did.
  adapter.enableCors = adapter.enableCors.bind(place);
  return (request, response, next) => inTurn(mounted, request, response, next);
}

function inTurn(
  [first, ...rest]: readonly Middleware[],
  request: IncomingMessage,
  response: ServerResponse,
  next: Next,
): void {
  if (first === undefined) return next();
  first(request, response, (error) =>
    error === undefined || error === null ? inTurn(rest, request, response, next) : next(error),
  );
}
