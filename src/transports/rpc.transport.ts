import type { ExecutionContext } from '@nestjs/common';
import { onDeparture, type Departing } from './departures.js';
import { messageRefusal } from './message-refusal.js';
import { perHandler } from './per-handler.js';
import type { Transport } from './transport.js';

/** The part of a microservice's context that is read: TCP has a socket, TCP and Redis metadata. */
interface RpcContext {
  getSocketRef?(): { readonly socket?: Departing & { readonly remoteAddress?: unknown } };
  getMetadata?(): unknown;
}

/** Microservices: each message is a request of its own, the caller is known by what came with it. */
export function rpcTransport(warnOfNobody: () => void): Transport {
  return {
    caller(context) {
      const rpc = rpcOf(context);
      const address = socketOf(rpc)?.remoteAddress;
      // Such as all that comes through a broker.
      if (address === undefined) warnOfNobody();
      const data = context.switchToRpc().getData<unknown>();
      const headers = headersOf(rpc?.getMetadata?.());
      return { request: { data, context: rpc }, ip: address, peer: address, headers };
    },
    path: () => undefined,
    setHeaders: () => undefined,
    async refuse(_context, refusal, body) {
      const { RpcException } = await import('@nestjs/microservices');
      return new RpcException(messageRefusal(refusal, body));
    },
    onGone: (context, callback) => onDeparture(socketOf(rpcOf(context)), 'close', callback),
  };
}

/** The message's own context, for each of the handlers that an event may have. */
export function rpcCarrier(context: ExecutionContext): object {
  const rpc = rpcOf(context);
  return rpc === undefined ? context.getArgs<unknown[]>() : perHandler(rpc, context.getHandler());
}

function rpcOf(context: ExecutionContext): (RpcContext & object) | undefined {
  const rpc = context.switchToRpc().getContext<unknown>();
  return typeof rpc === 'object' && rpc !== null ? rpc : undefined;
}

function socketOf(
  rpc: RpcContext | undefined,
): ReturnType<NonNullable<RpcContext['getSocketRef']>>['socket'] {
  return rpc?.getSocketRef?.().socket;
}

/** Metadata of a packet serves as the headers of a request do. */
function headersOf(metadata: unknown): Record<string, unknown> {
  if (typeof metadata !== 'object' || metadata === null) return {};
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
