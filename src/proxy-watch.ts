import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from './identity/request-identity.js';

/**
 * Warns, once each, of the two ways in which addresses are told wrong behind a proxy: nobody is
 * trusted, so all clients are the proxy; or everybody is, so clients choose their address.
 */
@Injectable()
export class ProxyWatch implements OnApplicationBootstrap {
  private readonly logger = new Logger('RateLimit');
  private isSilent = false;

  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    const trusted = trustedProxies(this.host);
    this.isSilent = Boolean(trusted);
    if (trusted !== true) return;
    this.logger.warn(
      'trust proxy is true: every client can choose its address in X-Forwarded-For. ' +
        'Trust the addresses of your proxies, or their number, instead of true',
    );
  }

  /** An untrusted header leaves the address of the connection as the client's. */
  look({ headers }: Caller): void {
    if (this.isSilent || headers['x-forwarded-for'] === undefined) return;
    this.isSilent = true;
    this.logger.warn(
      'X-Forwarded-For was sent, and no proxy is trusted: clients count as the address that connects. ' +
        "Behind a proxy, trust it: app.set('trust proxy', …) on Express, trustProxy on Fastify",
    );
  }
}

/** What the platform's own option says, which may be a list, a number or a function. */
function trustedProxies({ httpAdapter }: HttpAdapterHost): unknown {
  const instance: unknown = httpAdapter?.getInstance?.();
  if (typeof instance !== 'object' && typeof instance !== 'function') return undefined;
  if (httpAdapter.getType() === 'express') {
    return (instance as { get(name: string): unknown }).get('trust proxy');
  }
  // Fastify tells its options nowhere else.
  const symbol = Object.getOwnPropertySymbols(instance ?? {}).find(
    ({ description }) => description === 'fastify.options',
  );
  const options = symbol && (instance as Record<symbol, { trustProxy?: unknown }>)[symbol];
  return options?.trustProxy;
}
