import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Subscription } from 'rxjs';
import { holdBack } from './hold-back.js';
import type { HttpHeader } from './http/rate-limit-headers.js';
import { retryHeaders } from './http/retry-after.js';
import { RequestIdentity } from './identity/request-identity.js';
import { PhaseRunner } from './phase-runner.js';
import { ProxyWatch } from './proxy-watch.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RequestLimiter } from './request-limiter.js';
import type { Tier } from './tiers/tier.js';
import {
  httpCaller,
  httpCarrier,
  httpPath,
  onClose,
  refusalHeaders,
  type HttpRequest,
} from './transports/http.transport.js';
import { PlatformAddress } from './transports/platform-address.js';
import { guardUpgrades } from './transports/upgrades.js';
import { visitOf } from './visit.js';

/** What a platform does with a request that goes on, or that fails. */
type Next = (error?: unknown) => void;

interface FastifyLike {
  addHook(
    name: 'onRequest',
    hook: (request: HttpRequest, reply: { raw: ServerResponse; hijack(): void }) => Promise<void>,
  ): void;
}

/**
 * Decides the `edge` tiers before body parsing and routing, so that a refused body is not read and
 * unknown routes count. Mounts itself, on Express and on Fastify, when the app's adapter is known.
 */
@Injectable()
export class Edge implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly tiers: readonly Tier[];
  private readonly subscription: Subscription | undefined;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly settings: RateLimitSettings,
    private readonly limiter: RequestLimiter,
    private readonly runner: PhaseRunner,
    private readonly proxies: ProxyWatch,
  ) {
    this.tiers = settings.tiers.filter(({ phase }) => phase === 'edge');
    if (!settings.enabled || this.tiers.length === 0) return;
    // Fires as soon as the app has an adapter, which is before it has body parsers.
    this.subscription = host.init$.subscribe(() => this.mount(host));
  }

  /** Upgrades, which open connections, reach no middleware. */
  onApplicationBootstrap(): void {
    if (this.subscription === undefined) return;
    const address = new PlatformAddress(this.host);
    guardUpgrades(this.host.httpAdapter?.getHttpServer?.(), (request, response) => {
      const caller = httpCaller(request);
      return this.isRefused(request, response, { ...caller, ip: address.of(caller) });
    });
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }

  /** A worker or a microservice has no adapter, and no requests that come through an edge. */
  private mount({ httpAdapter }: HttpAdapterHost): void {
    if (!httpAdapter) return;
    if (httpAdapter.getType() === 'fastify') {
      const instance: FastifyLike = httpAdapter.getInstance();
      instance.addHook('onRequest', async (request, reply) => {
        // Answered on the raw response: nothing of the app sees the request any more.
        if (await this.isRefused(request, reply.raw)) reply.hijack();
      });
      return;
    }
    httpAdapter.use((request: IncomingMessage, response: ServerResponse, next: Next) => {
      this.isRefused(request as HttpRequest, response).then((isRefused) => {
        if (!isRefused) next();
      }, next);
    });
  }

  /**
   * Decides, writes the headers, and on a refusal the whole answer. Of a caller that has gone while
   * it was held nobody is to see more, so that counts as refused.
   */
  private async isRefused(
    request: HttpRequest,
    response: ServerResponse,
    caller = httpCaller(request),
  ): Promise<boolean> {
    this.proxies.look(caller);
    if (this.runner.isExempt(caller.ip ?? caller.peer, httpPath(request))) return false;
    const visit = visitOf(
      httpCarrier(request),
      () => new RequestIdentity(caller, this.settings.identity),
    );
    const question = { visit, phase: 'edge', tiers: this.tiers, request } as const;
    const { refusal, delayMs } = await this.limiter.decide(question);
    setHeaders(response, this.runner.quotaHeaders(visit));
    if (refusal === undefined) {
      return !(await holdBack(this.settings.clock, delayMs, (gone) => onClose(response, gone)));
    }
    const body = this.runner.bodyOf(refusal);
    setHeaders(response, retryHeaders(refusal.retryAfterMs));
    setHeaders(response, [['Content-Type', 'application/json'], ...refusalHeaders(body)]);
    response.statusCode = refusal.status;
    // The body was not read, so the connection cannot carry another request.
    response.setHeader('Connection', 'close');
    // Text becomes what Nest's own filter makes of it.
    const { status: statusCode } = refusal;
    response.end(JSON.stringify(typeof body === 'string' ? { statusCode, message: body } : body));
    return true;
  }
}

function setHeaders(response: ServerResponse, headers: readonly HttpHeader[]): void {
  if (response.headersSent) return;
  for (const [name, value] of headers) response.setHeader(name, value);
}
