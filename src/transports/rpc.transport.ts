import type { ExecutionContext } from '@nestjs/common';
import { messageRefusal } from './message-refusal.js';
import { nobodyLeaves, type Transport } from './transport.js';

/** The part of a microservice's context that is read: TCP has a socket, some others have headers. */
interface RpcContext {
  getSocketRef?(): { readonly socket?: { readonly remoteAddress?: unknown } } | undefined;
}

/** Microservices: each message is a request of its own. */
export const rpcTransport: Transport = {
  caller(context) {
    const rpc = rpcOf(context);
    const address = rpc?.getSocketRef?.()?.socket?.remoteAddress;
    const data = context.switchToRpc().getData<unknown>();
    return { request: { data, context: rpc }, ip: address, peer: address, headers: {} };
  },
  path: () => undefined,
  setHeaders: () => undefined,
  async refuse(_context, refusal, body) {
    const { RpcException } = await import('@nestjs/microservices');
    return new RpcException(messageRefusal(refusal, body));
  },
  onGone: nobodyLeaves,
};

/** The message's own context. */
export function rpcCarrier(context: ExecutionContext): object | undefined {
  return rpcOf(context);
}

function rpcOf(context: ExecutionContext): (RpcContext & object) | undefined {
  const rpc = context.switchToRpc().getContext<unknown>();
  return typeof rpc === 'object' && rpc !== null ? rpc : undefined;
}
