import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from '../identity/request-identity.js';
import { RateLimitException } from '../rate-limit.exception.js';
import {
  responseOf as asResponse,
  httpCaller,
  httpPath,
  type HttpRequest,
} from './http.transport.js';
import { nobodyLeaves, type Transport } from './transport.js';

/** Where Apollo, Mercurius and graphql-ws keep the request and the response that carry a document. */
interface GraphqlContext {
  readonly req?: HttpRequest & { readonly res?: object };
  readonly request?: HttpRequest;
  readonly res?: object;
  readonly reply?: { readonly request?: HttpRequest };
  readonly extra?: { readonly request?: HttpRequest };
}

/** Each root field is a request of its own, so aliases and batches multiply nothing. */
export function graphqlTransport(host: HttpAdapterHost): Transport {
  return {
    caller: (context): Caller => httpCaller(requestOf(context)),
    path: (context) => httpPath(requestOf(context)),
    setHeaders(context, headers) {
      const response = responseOf(context);
      const { httpAdapter } = host;
      if (response === undefined || httpAdapter.isHeadersSent(response)) return;
      for (const [name, value] of headers) httpAdapter.setHeader(response, name, value);
    },
    // Nest's GraphQL drivers turn an HttpException into an error of the field.
    refuse: (_context, refusal, body) => Promise.resolve(new RateLimitException(refusal, body)),
    onGone: nobodyLeaves,
  };
}

function contextOf(context: ExecutionContext): GraphqlContext {
  return context.getArgByIndex<GraphqlContext | undefined>(2) ?? {};
}

/** The field's own info: each field of a document is a request of its own. */
export function graphqlCarrier(context: ExecutionContext): object | undefined {
  return context.getArgByIndex<object | undefined>(3);
}

function requestOf(context: ExecutionContext): HttpRequest {
  const { req, request, reply, extra } = contextOf(context);
  return req ?? request ?? reply?.request ?? extra?.request ?? {};
}

/** A subscription has none. */
function responseOf(context: ExecutionContext): object | undefined {
  const { res, req, reply } = contextOf(context);
  return asResponse(res ?? req?.res ?? reply);
}
