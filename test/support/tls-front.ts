import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';

const read = (name: string): string => readFileSync(join(__dirname, 'tls', name), 'utf8');

/** TLS before a server that need not speak it. Its certificate, signed by itself, is for `localhost`. */
export interface TlsFront {
  readonly port: number;
  /** The authority that clients have to trust. */
  readonly ca: string;
  readonly close: () => Promise<void>;
}

export async function startTls(target: { host: string; port: number }): Promise<TlsFront> {
  const ca = read('localhost.crt');
  const sockets = new Set<TLSSocket>();
  const listener = createServer({ cert: ca, key: read('localhost.key') }, (client) => {
    const server = connect(target.port, target.host);
    sockets.add(client);
    client.pipe(server).pipe(client);
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
    client.once('close', () => {
      sockets.delete(client);
      server.destroy();
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    ca,
    close: async () => {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
