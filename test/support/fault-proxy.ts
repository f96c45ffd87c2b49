import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from './random.js';

/** What becomes of bytes on their way. Connections that live take up a new one at once. */
export type Fault =
  | { readonly kind: 'pass' }
  /**
   * A `share` of the chunks (default all) arrives `ms` later, and up to `jitterMs` later than that;
   * in order, so what follows a late chunk is late too.
   */
  | {
      readonly kind: 'slow';
      readonly ms: number;
      readonly jitterMs?: number;
      readonly share?: number;
    }
  /** Arrives in pieces of 1 to `maxBytes` bytes, each in a turn of the event loop of its own. */
  | { readonly kind: 'slice'; readonly maxBytes: number }
  /** A partition that heals: nothing arrives until the next fault, and then everything does. */
  | { readonly kind: 'hold' }
  /** Both ways swallow everything. A connection that has lost bytes stays so: there is no way back. */
  | { readonly kind: 'blackhole' }
  /** The server gets every request; a client that has lost a reply hears nothing any more. */
  | { readonly kind: 'drop-replies' }
  /** The next reply ends after so many bytes, with a reset. */
  | { readonly kind: 'cut-replies'; readonly afterBytes: number }
  /** Bytes that no protocol knows stand before each chunk of replies. */
  | { readonly kind: 'garbage' };

/** Neither RESP 2 nor 3 has a reply that begins like this. */
const GARBAGE = Buffer.from('\x00\xff\x13garbage\r\n', 'latin1');

const HOST = '127.0.0.1';

/** A TCP proxy on a port of its own, before a server that a test may not trust. */
export class FaultProxy {
  readonly host = HOST;
  /** Accepted so far. */
  connections = 0;
  /** Chunks that were made late. */
  slowed = 0;
  /** Bytes that have arrived, either way. */
  readonly delivered = { requests: 0, replies: 0 };
  port = 0;

  private readonly links = new Set<Link>();
  private listener: Server;
  private current: Fault = { kind: 'pass' };
  private waiting: (() => void)[] = [];

  private constructor(
    /** Where new connections lead: another one is what a changed DNS entry is to a client. */
    public target: { readonly host: string; readonly port: number },
    readonly random: () => number,
  ) {
    this.listener = this.newListener();
  }

  /** The seed decides jitter, late chunks and sizes of pieces. */
  static async start(
    target: { readonly host: string; readonly port: number },
    seed = 1,
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, randomFrom(seed));
    await proxy.listen(0);
    proxy.port = (proxy.listener.address() as AddressInfo).port;
    return proxy;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get fault(): Fault {
    return this.current;
  }

  set fault(fault: Fault) {
    this.current = fault;
    for (const resume of this.waiting.splice(0)) resume();
  }

  /** Settles when the fault is another one. */
  nextFault(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Connections that neither side has closed. */
  get open(): number {
    return this.links.size;
  }

  /** Every connection ends with an RST, either way. */
  reset(): void {
    for (const link of this.links) link.reset();
  }

  /** The server's side says goodbye (FIN), and would still listen. */
  halfClose(): void {
    for (const link of this.links) link.client.end();
  }

  /** ECONNREFUSED for whoever comes next; connections that live go on. */
  async refuse(): Promise<void> {
    const { listener } = this;
    if (listener.listening) listener.close();
    await turn();
  }

  /** Takes connections again, on the same port. */
  async accept(): Promise<void> {
    if (this.listener.listening) return;
    this.listener = this.newListener();
    await this.listen(this.port);
  }

  async close(): Promise<void> {
    await this.refuse();
    this.fault = { kind: 'blackhole' };
    this.reset();
  }

  private newListener(): Server {
    return createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.connections++;
      const link = new Link(this, client, connect({ ...this.target, allowHalfOpen: true }));
      this.links.add(link);
      link.onClose(() => this.links.delete(link));
    });
  }

  private async listen(port: number): Promise<void> {
    this.listener.listen(port, HOST);
    await once(this.listener, 'listening');
  }
}

/** A client, the connection to the server that stands for it, and both ways between them. */
class Link {
  constructor(
    proxy: FaultProxy,
    readonly client: Socket,
    private readonly server: Socket,
  ) {
    server.setNoDelay(true);
    new Way(proxy, 'requests', this, server).follow(client);
    new Way(proxy, 'replies', this, client).follow(server);
  }

  reset(): void {
    this.client.resetAndDestroy();
    this.server.resetAndDestroy();
  }

  onClose(listener: () => void): void {
    for (const [socket, other] of [
      [this.client, this.server],
      [this.server, this.client],
    ] as const) {
      socket.on('error', () => undefined);
      socket.once('close', () => {
        other.destroy();
        listener();
      });
    }
  }
}

type Arrival = { readonly chunk: Buffer | undefined; readonly atMs: number };

/** One way of a link. What arrives is dealt with in order, by the fault that holds at its turn. */
class Way {
  private readonly arrivals: Arrival[] = [];
  private isBusy = false;
  private isLost = false;

  constructor(
    private readonly proxy: FaultProxy,
    private readonly name: 'requests' | 'replies',
    private readonly link: Link,
    private readonly to: Socket,
  ) {}

  follow(from: Socket): void {
    from.on('data', (chunk) => this.arrive(chunk));
    from.on('end', () => this.arrive(undefined));
  }

  private arrive(chunk: Buffer | undefined): void {
    this.arrivals.push({ chunk, atMs: performance.now() });
    if (!this.isBusy) void this.work();
  }

  private async work(): Promise<void> {
    this.isBusy = true;
    while (this.arrivals.length > 0) await this.pass(this.arrivals.shift()!);
    this.isBusy = false;
  }

  private async pass({ chunk, atMs }: Arrival): Promise<void> {
    while (this.proxy.fault.kind === 'hold') await this.proxy.nextFault();
    const { fault } = this.proxy;
    const isReply = this.name === 'replies';
    if (fault.kind === 'blackhole' || (fault.kind === 'drop-replies' && isReply)) {
      this.isLost = true;
    }
    if (this.isLost) return;
    if (chunk === undefined) this.to.end();
    else if (fault.kind === 'slow') {
      await sleep(atMs + this.delayMs(fault) - performance.now());
      this.deliver(chunk);
    } else if (fault.kind === 'slice') await this.deliverSlices(chunk, fault.maxBytes);
    else if (fault.kind === 'garbage' && isReply) this.deliver(Buffer.concat([GARBAGE, chunk]));
    else if (fault.kind === 'cut-replies' && isReply) {
      this.deliver(chunk.subarray(0, fault.afterBytes));
      // A reset in the same turn would overtake the bytes.
      await sleep(5);
      this.link.reset();
    } else this.deliver(chunk);
  }

  private delayMs({ ms, jitterMs = 0, share = 1 }: Fault & { kind: 'slow' }): number {
    if (this.proxy.random() >= share) return 0;
    this.proxy.slowed++;
    return ms + this.proxy.random() * jitterMs;
  }

  private async deliverSlices(chunk: Buffer, maxBytes: number): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      const size = 1 + Math.floor(this.proxy.random() * maxBytes);
      this.deliver(chunk.subarray(at, at + size));
      at += size;
      await turn();
    }
  }

  private deliver(chunk: Buffer): void {
    if (this.to.destroyed || chunk.length === 0) return;
    this.proxy.delivered[this.name] += chunk.length;
    this.to.write(chunk);
  }
}
