import type { ExecutionContext } from '@nestjs/common';
import { httpCarrier, requestOf } from './http.transport.js';
import { graphqlCarrier } from './graphql.transport.js';
import { rpcCarrier } from './rpc.transport.js';
import { wsCarrier } from './ws.transport.js';

/** The object that stands for the request of any context, for those who hold no transport. */
export function carrierOf(context: ExecutionContext): object | undefined {
  switch (context.getType<string>()) {
    case 'http':
      return httpCarrier(requestOf(context));
    case 'graphql':
      return graphqlCarrier(context);
    case 'ws':
      return wsCarrier(context);
    case 'rpc':
      return rpcCarrier(context);
    default:
      return undefined;
  }
}
