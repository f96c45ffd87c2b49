import type { ExecutionContext } from '@nestjs/common';
import { messageRefusal } from './message-refusal.js';
import { nobodyLeaves, type Transport } from './transport.js';

/** The part of socket.io's and ws's sockets that is read. */
interface Socket {
  readonly handshake?: { readonly address?: unknown; readonly headers?: Record<string, unknown> };
  readonly _socket?: { readonly remoteAddress?: unknown };
}

/** Gateways: each message is a request of its own, the caller is known by its connection. */
export const wsTransport: Transport = {
  caller(context) {
    const socket = context.switchToWs().getClient<Socket>();
    return {
      request: socket,
      ip: socket.handshake?.address ?? socket._socket?.remoteAddress,
      peer: socket._socket?.remoteAddress,
      headers: socket.handshake?.headers ?? {},
    };
  },
  path: () => undefined,
  setHeaders: () => undefined,
  async refuse(_context, refusal, body) {
    const { WsException } = await import('@nestjs/websockets');
    return new WsException(messageRefusal(refusal, body));
  },
  onGone: nobodyLeaves,
};

/** A message of plain text is counted all the same, and has no place to keep its decisions. */
export function wsCarrier(context: ExecutionContext): object | undefined {
  const data = context.switchToWs().getData<unknown>();
  return typeof data === 'object' && data !== null ? data : undefined;
}
