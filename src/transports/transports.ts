import { HttpAdapterHost } from '@nestjs/core';
import { Injectable, type ExecutionContext } from '@nestjs/common';
import { graphqlTransport } from './graphql.transport.js';
import { httpTransport } from './http.transport.js';
import { rpcTransport } from './rpc.transport.js';
import { silentTransport } from './silent.transport.js';
import type { Transport } from './transport.js';
import { wsTransport } from './ws.transport.js';

/** The transport of a context, told by its type; a new one is one file and one row. */
@Injectable()
export class Transports {
  private readonly byType: ReadonlyMap<string, Transport>;

  constructor(host: HttpAdapterHost) {
    this.byType = new Map([
      ['http', httpTransport(host)],
      ['graphql', graphqlTransport(host)],
      ['ws', wsTransport],
      ['rpc', rpcTransport],
    ]);
  }

  of(context: ExecutionContext): Transport {
    return this.byType.get(context.getType<string>()) ?? silentTransport;
  }
}
