import { FaultProxy } from '../support/fault-proxy.js';
import { RedisServer } from '../support/redis-server.js';

/** What a test has started ends after it, the latest first. */
export class Stops {
  private readonly stops: (() => unknown)[] = [];

  constructor() {
    afterEach(() => this.stop());
  }

  add(stop: () => unknown): void {
    this.stops.push(stop);
  }

  async server(args: readonly string[] = []): Promise<RedisServer> {
    const server = await RedisServer.start({ args });
    this.add(() => server.stop());
    return server;
  }

  async proxy(server: { readonly host: string; readonly port: number }): Promise<FaultProxy> {
    const proxy = await FaultProxy.start(server);
    this.add(() => proxy.close());
    return proxy;
  }

  private async stop(): Promise<void> {
    for (const stop of this.stops.splice(0).toReversed()) await stop();
  }
}
