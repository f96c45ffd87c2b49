import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from '../identity/request-identity.js';
import { onDeparture } from './departures.js';
import { graphqlRefusal } from './graphql-refusal.js';
import {
  httpCaller,
  httpPath,
  responseOf as asResponse,
  type HttpRequest,
} from './http.transport.js';
import type { PlatformAddress } from './platform-address.js';
import type { Transport } from './transport.js';

/** What graphql-ws knows of a connection; Nest's drivers call it the request of a subscription. */
interface Connection {
  readonly extra?: { readonly request?: HttpRequest };
}

/** Where Apollo, Mercurius, Yoga and graphql-ws keep the request and the response of a document. */
interface GraphqlContext extends Connection {
  readonly req?: HttpRequest & Connection & { readonly res?: object };
  readonly request?: HttpRequest & Connection;
  readonly res?: object;
  readonly reply?: { readonly request?: HttpRequest };
}

/** Each root field is a request of its own, so aliases and batches multiply nothing. */
export function graphqlTransport(host: HttpAdapterHost, address: PlatformAddress): Transport {
  return {
    caller(context): Caller {
      const { request, upgrade } = originOf(context);
      const bundle = bundleOf(context);
      if (upgrade === undefined) return Object.assign(httpCaller(request), { bundle });
      const { peer, headers } = httpCaller(upgrade);
      return { request, ip: address.of({ headers, peer }), peer, headers, bundle };
    },
    path: (context) => httpPath(originOf(context).request),
    setHeaders(context, headers) {
      const response = responseOf(context);
      const { httpAdapter } = host;
      if (response === undefined || httpAdapter.isHeadersSent(response)) return;
      for (const [name, value] of headers) httpAdapter.setHeader(response, name, value);
    },
    refuse(context, refusal, body) {
      const isHttp = originOf(context).upgrade === undefined;
      return Promise.resolve(graphqlRefusal(refusal, body, isHttp));
    },
    onGone(context, callback) {
      const { request, upgrade = request } = originOf(context);
      const { socket } = upgrade.raw ?? upgrade;
      return onDeparture(socket, 'close', callback);
    },
  };
}

/** The part of a field's info that is read. */
interface FieldInfo {
  readonly variableValues?: unknown;
}

/** The field's own info: each field of a document is a request of its own. */
export function graphqlCarrier(context: ExecutionContext): object | undefined {
  return argsOf(context)[1];
}

/** The context and the info of a field; those that resolve references or types have no arguments. */
function argsOf(context: ExecutionContext): readonly [GraphqlContext, FieldInfo | undefined] {
  const args = context.getArgs<unknown[]>();
  const at = args.length === 3 || isSchemaType(args[3]) ? 1 : 2;
  const own = args[at];
  const info = args[at + 1];
  return [isObject(own) ? own : {}, isObject(info) ? info : undefined];
}

/** A type is resolved with the abstract type in the last place, where a field has its info. */
function isSchemaType(value: unknown): boolean {
  return isObject(value) && 'astNode' in value && !('fieldName' in value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** What the app takes for the request, and under it that of the connection where there is one. */
function originOf(context: ExecutionContext): {
  readonly request: HttpRequest;
  readonly upgrade?: HttpRequest;
} {
  const { req, request, reply, extra } = argsOf(context)[0];
  const own = req ?? request;
  const upgrade = (own ?? { extra }).extra?.request ?? extra?.request;
  return { request: own ?? reply?.request ?? upgrade ?? {}, ...(upgrade && { upgrade }) };
}

/**
 * What the fields that are asked for together have in common: the request of a batch. That of a
 * connection lives on, and who asks may change; of its operations each has variables of its own.
 */
function bundleOf(context: ExecutionContext): object | undefined {
  const { request, upgrade } = originOf(context);
  const isOfConnection = upgrade !== undefined || request.upgrade === true;
  if (!isOfConnection) return request;
  const { variableValues } = argsOf(context)[1] ?? {};
  return isObject(variableValues) ? variableValues : undefined;
}

/** A subscription has none. */
function responseOf(context: ExecutionContext): object | undefined {
  const { res, req, reply } = argsOf(context)[0];
  return asResponse(res ?? req?.res ?? reply);
}
