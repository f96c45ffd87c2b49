import type { HttpAdapterHost } from '@nestjs/core';
import type { Caller } from '../identity/request-identity.js';

/** What Express and Fastify work an address out from. */
interface AddressSource {
  readonly headers: Caller['headers'];
  readonly socket: { readonly remoteAddress: unknown };
}

/**
 * The address of a request that the platform has not seen, such as the one that opened a
 * WebSocket: worked out by the platform itself, so that its `trust proxy` holds for all transports.
 */
export class PlatformAddress {
  constructor(private readonly host: HttpAdapterHost) {}

  /** The address of the connection where the platform cannot be asked. */
  of({ headers, peer }: Pick<Caller, 'headers' | 'peer'>): unknown {
    if (headers['x-forwarded-for'] === undefined) return peer;
    const source: AddressSource = { headers, socket: { remoteAddress: peer } };
    return this.asked(source) ?? peer;
  }

  private asked(source: AddressSource): unknown {
    const { httpAdapter } = this.host;
    const instance: unknown = httpAdapter?.getInstance?.();
    if (!isKeyed(instance)) return undefined;
    if (httpAdapter.getType() === 'express') {
      const { request } = instance;
      return isKeyed(request)
        ? Reflect.get(request, 'ip', { ...source, app: instance })
        : undefined;
    }
    // The class of Fastify's requests, which knows whom it trusts.
    const symbol = Object.getOwnPropertySymbols(instance).find(
      ({ description }) => description === 'fastify.Request',
    );
    const type = symbol && instance[symbol];
    const prototype = isKeyed(type) ? type['prototype'] : undefined;
    return isKeyed(prototype)
      ? Reflect.get(prototype, 'ip', { ...source, raw: source })
      : undefined;
  }
}

function isKeyed(value: unknown): value is Record<string | symbol, unknown> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
