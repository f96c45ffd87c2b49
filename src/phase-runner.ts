import { HttpException, Injectable, type ExecutionContext } from '@nestjs/common';
import { holdBack } from './hold-back.js';
import { problemBody, type Refusal } from './http/problem.js';
import { rateLimitHeaders, type HttpHeader } from './http/rate-limit-headers.js';
import { retryHeaders } from './http/retry-after.js';
import { RequestIdentity } from './identity/request-identity.js';
import { ProxyWatch } from './proxy-watch.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RequestLimiter } from './request-limiter.js';
import { RoutePlans } from './route-plans.js';
import { carrierOf } from './transports/carrier.js';
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
  ) {}

  /** Rejects with the transport's own exception when a tier refuses. */
  async run(phase: 'guard' | 'handler', execution: ExecutionContext): Promise<void> {
    if (!this.settings.enabled) return;
    const tiers = this.plans.of(execution.getClass(), execution.getHandler())[phase];
    if (tiers.length === 0) return;
    const transport = this.transports.of(execution);
    const caller = transport.caller(execution);
    this.proxies.look(caller);
    if (this.isExempt(caller.ip ?? caller.peer, transport.path(execution))) return;
    const carrier = carrierOf(execution);
    const identify = (): RequestIdentity => new RequestIdentity(caller, this.settings.identity);
    const visit = carrier === undefined ? new Visit(identify()) : visitOf(carrier, identify);
    const question = { visit, phase, tiers, request: caller.request, execution };

    const { refusal, delayMs } = await this.limiter.decide(question);
    transport.setHeaders(execution, this.quotaHeaders(visit));
    if (refusal !== undefined) {
      transport.setHeaders(execution, retryHeaders(refusal.retryAfterMs));
      throw await transport.refuse(execution, refusal, this.bodyOf(refusal));
    }
    const isThere = await holdBack(this.settings.clock, delayMs, (callback) =>
      transport.onGone(execution, callback),
    );
    // Nobody reads this; it keeps the handler from running for nobody.
    if (!isThere) throw new HttpException('The client closed the request', 499);
  }

  isExempt(ip: unknown, path: string | undefined): boolean {
    const { isExemptIp, isExemptPath } = this.settings;
    return (path !== undefined && isExemptPath(path)) || (typeof ip === 'string' && isExemptIp(ip));
  }

  /** One writer for all tiers decided so far; a later phase writes them again, with its own. */
  quotaHeaders({ decided }: Visit): HttpHeader[] {
    const { headers, resetHeader, clock } = this.settings;
    const told = decided.filter(({ isShadow }) => !isShadow);
    return rateLimitHeaders(headers, told, { nowMs: clock.now(), reset: resetHeader });
  }

  bodyOf(refusal: Refusal): object | string {
    return this.settings.body?.(refusal) ?? problemBody(refusal);
  }
}
