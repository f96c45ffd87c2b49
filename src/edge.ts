import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Subscription } from 'rxjs';
import { Asker } from './asker.js';
import { mountEdge, type EdgeDecision } from './edge-mount.js';
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
} from './transports/http.transport.js';
import { PlatformAddress } from './transports/platform-address.js';
import { guardUpgrades } from './transports/upgrades.js';
import { visitOf } from './visit.js';

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
    this.tiers = Object.freeze(settings.tiers.filter(({ phase }) => phase === 'edge'));
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
      return this.isRefused(
        { request, ip: address.of(caller), peer: caller.peer, headers: caller.headers },
        request,
        response,
      );
    });
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }

  /** A worker or a microservice has no adapter, and no requests that come through an edge. */
  private mount({ httpAdapter }: HttpAdapterHost): void {
    if (!httpAdapter) return;
    mountEdge(httpAdapter, (...asked) => this.isRefused(...asked));
  }

  /**
   * Decides, writes the headers, and on a refusal the whole answer. Of a caller that has gone while
   * it was held nobody is to see more, so that counts as refused.
   */
  private async isRefused(
    ...[caller, request, response]: Parameters<EdgeDecision>
  ): Promise<boolean> {
    this.proxies.look(caller);
    if (
      this.settings.hasExemptions &&
      this.runner.isExempt(caller.ip ?? caller.peer, httpPath(request))
    ) {
      return false;
    }
    const visit = visitOf(
      httpCarrier(request),
      () => new RequestIdentity(caller, this.settings.identity),
    );
    const question = {
      visit,
      asker: new Asker(visit.identity, 'edge', this.settings),
      phase: 'edge',
      tiers: this.tiers,
      request,
    } as const;
    const { refusal, delayMs } = await this.limiter.decide(question);
    setHeaders(response, this.runner.quotaHeaders(visit));
    if (refusal === undefined) {
      return !(await holdBack(this.settings.clock, delayMs, (gone) => onClose(response, gone)));
    }
    const body = this.runner.bodyOf(refusal);
    setHeaders(response, retryHeaders(refusal.retryAfterMs));
    setHeaders(response, [['Content-Type', 'application/json'], ...refusalHeaders(body)]);
    response.statusCode = refusal.status;
    if (hasBody(response.req)) response.setHeader('Connection', 'close');
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

/**
 * Whether a body is still to come, which nobody reads: the connection cannot carry another request.
 * A stream of HTTP/2 ends alone, and Node warns of a header that HTTP/2 has not.
 */
function hasBody({ headers, httpVersionMajor }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
  return httpVersionMajor === 1 && (length !== '0' || encoding !== undefined);
}
