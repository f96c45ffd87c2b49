import type { ExecutionContext } from '@nestjs/common';
import { httpCarrier, requestOf } from './http.transport.js';
import { graphqlCarrier } from './graphql.transport.js';
import { rpcCarrier } from './rpc.transport.js';
import { wsCarrier } from './ws.transport.js';

/** The object that stands for the request of any context, for those who hold no transport. */
export function carrierOf(context: ExecutionContext): object | undefined {
  switch (context.getType<string>()) {
    case 'http': {
      const request = requestOf(context);
      // What libraries pass as a request may live longer than one.
      return 'headers' in request || 'raw' in request ? httpCarrier(request) : undefined;
    }
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
