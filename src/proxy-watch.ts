import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from './identity/request-identity.js';

/** Documentation addresses, which nobody has to trust (RFC 5737, RFC 3849). */
const STRANGERS = ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1'];
/** Further away than any number of proxies. */
const FAR_HOPS = 1_000_000;

/**
 * Warns, once each, of the ways in which addresses are told wrong: no proxy is trusted, so all its
 * clients are the proxy; everybody is, so clients choose their address; or there is no address.
 */
@Injectable()
export class ProxyWatch implements OnApplicationBootstrap {
  private readonly logger = new Logger('RateLimit');
  private isForwardingKnown = false;
  private isAbsenceKnown = false;

  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    const trusted = trustedProxies(this.host);
    this.isForwardingKnown = Boolean(trusted);
    if (!isEverybody(trusted)) return;
    this.logger.warn(
      'trust proxy trusts everybody: every client can choose its address in X-Forwarded-For. ' +
        'Trust the addresses of your proxies instead',
    );
  }

  look({ ip, peer, headers }: Caller): void {
    // A header that is not believed leaves the address of the connection as the client's.
    const isBelieved = peer !== undefined && ip !== peer;
    if (!this.isForwardingKnown && headers['x-forwarded-for'] !== undefined && !isBelieved) {
      this.isForwardingKnown = true;
      this.logger.warn(
        'X-Forwarded-For was sent, and no proxy is trusted: clients count as the address that connects. ' +
          "Behind a proxy, trust its address: app.set('trust proxy', …) on Express, trustProxy on Fastify",
      );
    }
    if (!this.isAbsenceKnown && ip === undefined && peer === undefined) {
      this.isAbsenceKnown = true;
      this.logger.warn(
        'a request came without an address: all such requests count as one client. Behind a proxy ' +
          'on a Unix socket, trust it: (address) => address === undefined; else count by something else',
      );
    }
  }
}

/** Whether a platform's option believes what no proxy has said. Both refuse ranges that are all. */
function isEverybody(trusted: unknown): boolean {
  if (typeof trusted !== 'function') return trusted === true;
  try {
    return STRANGERS.every((address) => (trusted as TrustProxy)(address, FAR_HOPS));
  } catch {
    return false;
  }
}

type TrustProxy = (address: string, hops: number) => boolean;

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
  const trusted = options?.trustProxy;
  // Since 5.12 Fastify believes no header because of a number of hops.
  return typeof trusted === 'number' ? undefined : trusted;
}
