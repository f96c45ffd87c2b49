import { HttpException, Injectable, type ExecutionContext } from '@nestjs/common';
import { andThen } from './and-then.js';
import { Asker } from './asker.js';
import { holdBack } from './hold-back.js';
import { problemBody, type Refusal } from './http/problem.js';
import { rateLimitHeaders, type HttpHeader } from './http/rate-limit-headers.js';
import { retryHeaders } from './http/retry-after.js';
import { identityOf, type RequestIdentity } from './identity/request-identity.js';
import { ProxyWatch } from './proxy-watch.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RequestLimiter, type Verdict } from './request-limiter.js';
import { RoutePlans } from './route-plans.js';
import { carrierOf } from './transports/carrier.js';
import type { Transport } from './transports/transport.js';
import { Transports } from './transports/transports.js';
import { Visit, visitOf } from './visit.js';

/** A phase of a request in Nest's pipeline: decide, tell the client, hold back or refuse. */
@Injectable()
export class PhaseRunner {
  constructor(
    private readonly settings: RateLimitSettings,
    private readonly plans: RoutePlans,
    private readonly limiter: RequestLimiter,
    private readonly transports: Transports,
    private readonly proxies: ProxyWatch,
    private readonly log: RateLimitLog,
  ) {}

  /** True, or a rejection with the transport's own exception when a tier refuses. */
  run(phase: 'guard' | 'handler', execution: ExecutionContext): true | Promise<true> {
    if (!this.settings.enabled) return true;
    const tiers = this.plans.of(execution.getClass(), execution.getHandler())[phase];
    if (tiers.length === 0) return true;
    const transport = this.transports.of(execution);
    const caller = transport.caller(execution);
    // A message that needs no address is none that a proxy has hidden.
    if (execution.getType<string>() !== 'rpc') this.proxies.look(caller);
    if (
      this.settings.hasExemptions &&
      this.isExempt(caller.ip ?? caller.peer, transport.path(execution))
    ) {
      return true;
    }
    const carrier = carrierOf(execution);
    const identify = (): RequestIdentity => identityOf(caller, this.settings.identity);
    const visit = carrier === undefined ? new Visit(identify()) : visitOf(carrier, identify);
    const asker = new Asker(visit.identity, phase, this.settings);
    const question = { visit, asker, phase, tiers, request: caller.request, execution };
    return andThen(this.limiter.decide(question), (verdict) =>
      this.conclude(verdict, visit, transport, execution),
    );
  }

  isExempt(ip: unknown, path: string | undefined): boolean {
    const { isExemptIp, isExemptPath } = this.settings;
    return (path !== undefined && isExemptPath(path)) || (typeof ip === 'string' && isExemptIp(ip));
  }

  /** One writer for all tiers decided so far; a later phase writes them again, with its own. */
  quotaHeaders({ decided }: Visit): HttpHeader[] {
    const { headers, resetHeader, clock } = this.settings;
    if (headers.length === 0 || decided.length === 0) return [];
    const told = decided.some(({ isShadow }) => isShadow)
      ? decided.filter(({ isShadow }) => !isShadow)
      : decided;
    return rateLimitHeaders(headers, told, { nowMs: clock.now(), reset: resetHeader });
  }

  bodyOf(refusal: Refusal): object | string {
    try {
      return this.settings.body?.(refusal) ?? problemBody(refusal);
    } catch (error) {
      this.log.resolverFailed('body', error);
      return problemBody(refusal);
    }
  }

  private conclude(
    { refusal, delayMs }: Verdict,
    visit: Visit,
    transport: Transport,
    execution: ExecutionContext,
  ): true | Promise<true> {
    transport.setHeaders(execution, this.quotaHeaders(visit));
    if (refusal !== undefined) return this.refuse(refusal, transport, execution);
    return delayMs === 0 ? true : this.holdBack(delayMs, transport, execution);
  }

  private async refuse(
    refusal: Refusal,
    transport: Transport,
    execution: ExecutionContext,
  ): Promise<never> {
    transport.setHeaders(execution, retryHeaders(refusal.retryAfterMs));
    throw await transport.refuse(execution, refusal, this.bodyOf(refusal));
  }

  private async holdBack(
    delayMs: number,
    transport: Transport,
    execution: ExecutionContext,
  ): Promise<true> {
    const isThere = await holdBack(this.settings.clock, delayMs, (callback) =>
      transport.onGone(execution, callback),
    );
    if (isThere) return true;
    // Nobody reads this; it keeps the handler from running for nobody.
    throw new HttpException('The client closed the request', 499);
  }
}
