import { HttpAdapterHost } from '@nestjs/core';
import {
  Injectable,
  Logger,
  type ExecutionContext,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { RateLimitSettings } from '../rate-limit.settings.js';
import { graphqlTransport } from './graphql.transport.js';
import { httpTransport } from './http.transport.js';
import { PlatformAddress } from './platform-address.js';
import { rpcTransport } from './rpc.transport.js';
import { silentTransport } from './silent.transport.js';
import type { Transport } from './transport.js';
import { Upgrades } from './upgrades.js';
import { wsTransport } from './ws.transport.js';

/** The transport of a context, told by its type; a new one is one file and one row. */
@Injectable()
export class Transports implements OnApplicationBootstrap {
  private readonly logger = new Logger('RateLimit');
  private readonly upgrades = new Upgrades();
  private readonly byType: ReadonlyMap<string, Transport>;
  private hasWarned = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly settings: RateLimitSettings,
  ) {
    const address = new PlatformAddress(host);
    this.byType = new Map([
      ['http', httpTransport(host)],
      ['graphql', graphqlTransport(host, address)],
      ['ws', wsTransport(this.upgrades, address)],
      ['rpc', rpcTransport(() => this.warnOfNobody())],
    ]);
  }

  /** When gateways and subscriptions are listening for connections. */
  onApplicationBootstrap(): void {
    this.upgrades.watch(this.host.httpAdapter?.getHttpServer?.());
  }

  of(context: ExecutionContext): Transport {
    return this.byType.get(context.getType<string>()) ?? silentTransport;
  }

  private warnOfNobody(): void {
    if (this.hasWarned || this.settings.identities.length > 0) return;
    this.hasWarned = true;
    this.logger.warn(
      'a message without an address came from a microservice transport: all such callers share one ' +
        'counter of each tier. Tell them apart with identity.user or identity.apiKey.from',
    );
  }
}
