import type { ExecutionContext } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { onDeparture, type Departing } from './departures.js';
import { messageRefusal } from './message-refusal.js';
import { perHandler } from './per-handler.js';
import type { PlatformAddress } from './platform-address.js';
import type { Transport } from './transport.js';
import type { Upgrades } from './upgrades.js';

type Headers = Readonly<Record<string, unknown>>;

/** The part of socket.io's and ws's sockets that is read. */
interface Client extends Departing {
  /** socket.io's. */
  readonly handshake?: { readonly address?: unknown; readonly headers?: Headers };
  /** Under a socket of plain ws. */
  readonly _socket?: Departing & { readonly remoteAddress?: unknown };
  /** What an app may keep of a connection that we could not watch, such as of a port of its own. */
  readonly upgradeReq?: Pick<IncomingMessage, 'headers'>;
}

/** Gateways: each message is a request of its own, the caller is known by its connection. */
export function wsTransport(upgrades: Upgrades, address: PlatformAddress): Transport {
  return {
    caller(context) {
      const client = context.switchToWs().getClient<Client>();
      const { handshake, _socket: socket } = client;
      const opening = handshake ?? client.upgradeReq ?? upgrades.of(socket);
      const headers: Headers = opening?.headers ?? {};
      const peer = handshake?.address ?? socket?.remoteAddress;
      return { request: client, ip: address.of({ headers, peer }), peer, headers };
    },
    path: () => undefined,
    setHeaders: () => undefined,
    async refuse(_context, refusal, body) {
      const { WsException } = await import('@nestjs/websockets');
      return new WsException(messageRefusal(refusal, body));
    },
    onGone(context, callback) {
      const client = context.switchToWs().getClient<Client>();
      return client.handshake === undefined
        ? onDeparture(client._socket, 'close', callback)
        : onDeparture(client, 'disconnect', callback);
    },
  };
}

/**
 * The message, for each handler that gets it. One of plain text is no object: it is known by the
 * arguments of its handler, which are the same for guards and interceptors, not for decorators.
 */
export function wsCarrier(context: ExecutionContext): object {
  const message = context.switchToWs().getData<unknown>();
  return typeof message === 'object' && message !== null
    ? perHandler(message, context.getHandler())
    : context.getArgs<unknown[]>();
}
