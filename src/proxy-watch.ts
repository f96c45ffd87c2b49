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
  private hasWarned = false;

  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    if (!trustsEverybody(this.host)) return;
    this.logger.warn(
      'trust proxy is true: every client can choose its address in X-Forwarded-For. ' +
        'Trust the addresses of your proxies, or their number, instead of true',
    );
  }

  /** An untrusted header leaves the address of the connection as the client's. */
  look({ ip, peer, headers }: Caller): void {
    if (this.hasWarned || headers['x-forwarded-for'] === undefined || ip !== peer) return;
    this.hasWarned = true;
    this.logger.warn(
      'X-Forwarded-For was sent, and no proxy is trusted: clients count as the address that connects. ' +
        "Behind a proxy, trust it: app.set('trust proxy', …) on Express, trustProxy on Fastify",
    );
  }
}

function trustsEverybody({ httpAdapter }: HttpAdapterHost): boolean {
  const instance: unknown = httpAdapter?.getInstance?.();
  if (typeof instance !== 'object' && typeof instance !== 'function') return false;
  if (httpAdapter.getType() === 'express') {
    return (instance as { get(name: string): unknown }).get('trust proxy') === true;
  }
  // Fastify tells its options nowhere else.
  const symbol = Object.getOwnPropertySymbols(instance ?? {}).find(
    ({ description }) => description === 'fastify.options',
  );
  const options = symbol && (instance as Record<symbol, { trustProxy?: unknown }>)[symbol];
  return options?.trustProxy === true;
}
