import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROBLEM_CONTENT_TYPE } from '../http/problem.js';
import type { HttpHeader } from '../http/rate-limit-headers.js';
import type { Caller } from '../identity/request-identity.js';
import { RateLimitException } from '../rate-limit.exception.js';
import type { Departing } from './departures.js';
import { nobodyLeaves, type Transport } from './transport.js';

/** The part of Express's and Fastify's requests that is read. */
export interface HttpRequest {
  readonly ip?: unknown;
  readonly url?: string;
  readonly originalUrl?: string;
  readonly headers?: Record<string, unknown>;
  readonly socket?: Departing & { readonly remoteAddress?: unknown };
  readonly raw?: IncomingMessage;
  /** Node's mark of a request that opened a connection. */
  readonly upgrade?: unknown;
}

export function httpCaller(request: HttpRequest): Caller {
  return new HttpCaller(request);
}

class HttpCaller implements Caller {
  /** Worked out once: Fastify goes through the proxies each time that it is asked. */
  readonly ip: unknown;
  readonly peer: unknown;

  constructor(public request: HttpRequest) {
    this.ip = request.ip;
    this.peer = (request.raw ?? request).socket?.remoteAddress;
  }

  /** Node parses them when they are first looked at, and most requests need none of them here. */
  get headers(): Record<string, unknown> {
    return this.request.headers ?? {};
  }
}

/** Express's request is Node's own, Fastify's wraps it. */
export function httpCarrier(request: HttpRequest): object {
  return request.raw ?? request;
}

/** As it was sent, so that no spelling of another path passes for an exempt one. */
export function httpPath(request: HttpRequest): string | undefined {
  return (request.originalUrl ?? request.url)?.split('?', 1)[0];
}

/**
 * Nest calls contexts that libraries make `'http'` unless they name another kind, so what is no
 * request is one without an address.
 */
export function requestOf(context: ExecutionContext): HttpRequest {
  const request = context.getArgByIndex<unknown>(0);
  return typeof request === 'object' && request !== null ? request : {};
}

/** A response that headers can be set on. */
export function responseOf(value: unknown): object | undefined {
  const isResponse = typeof value === 'object' && value !== null;
  return isResponse && ('setHeader' in value || 'header' in value) ? value : undefined;
}

/** Express and Fastify, by what their adapters have in common. */
export function httpTransport(host: HttpAdapterHost): Transport {
  function setHeaders(context: ExecutionContext, headers: readonly HttpHeader[]): void {
    const response = responseOf(context.getArgByIndex<unknown>(1));
    const { httpAdapter } = host;
    if (response === undefined || httpAdapter.isHeadersSent(response)) return;
    for (const [name, value] of headers) httpAdapter.setHeader(response, name, value);
  }

  return {
    caller: (context) => httpCaller(requestOf(context)),
    path: (context) => httpPath(requestOf(context)),
    setHeaders,
    refuse(context, refusal, body) {
      // Nest 11 turns every other type of an error's body into application/json, with a warning
      // for each; the adapters of Nest 12 are told by what only they can do.
      const keepsType = 'setCookie' in host.httpAdapter;
      const headers = refusalHeaders(body);
      setHeaders(
        context,
        keepsType ? headers : headers.filter(([name]) => name !== 'Content-Type'),
      );
      return Promise.resolve(new RateLimitException(refusal, body));
    },
    onGone(context, callback) {
      const response = responseOf(context.getArgByIndex<unknown>(1));
      if (response === undefined) return nobodyLeaves();
      // Fastify's reply wraps Node's response.
      const raw = 'raw' in response ? response.raw : response;
      return onClose(raw as ServerResponse, callback);
    },
  };
}

/** Calls back once when a response's connection has closed; answers how to stop listening. */
export function onClose(response: ServerResponse, callback: () => void): () => void {
  // One that has gone already closes no more.
  if (response.destroyed) callback();
  response.once('close', callback);
  return () => response.off('close', callback);
}

/** A refusal is for this caller and this moment; no cache may give it to another. */
export function refusalHeaders(body: object | string): HttpHeader[] {
  const noStore: HttpHeader = ['Cache-Control', 'no-store'];
  return typeof body === 'object' && 'type' in body
    ? [noStore, ['Content-Type', PROBLEM_CONTENT_TYPE]]
    : [noStore];
}
