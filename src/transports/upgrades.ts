import { ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';

const EVENT = 'upgrade';

/** Node's own signature of the listeners of an upgrade. */
type Listener = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

/**
 * The requests that opened connections. Nest gives a gateway of plain ws the socket alone, and no
 * middleware sees an upgrade, so what was asked for is remembered when it comes by.
 */
export class Upgrades {
  private readonly requests = new WeakMap<object, IncomingMessage>();

  /** Once gateways listen: before, a listener would have Node take every upgrade for answered. */
  watch(server: Server | undefined): void {
    if (!listens(server)) return;
    server.prependListener(EVENT, (request: IncomingMessage, socket: Socket) => {
      this.requests.set(socket, request);
    });
  }

  /** The request that opened the connection of `socket`. */
  of(socket: object | undefined): IncomingMessage | undefined {
    return socket && this.requests.get(socket);
  }
}

/**
 * Has every upgrade wait for `isRefused`, which answers on a response of the connection's own when
 * it refuses. Takes the place of those who listen for upgrades by now, and lets them have the rest.
 */
export function guardUpgrades(
  server: Server | undefined,
  isRefused: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>,
): void {
  if (!listens(server)) return;
  const listeners = server.listeners(EVENT) as Listener[];
  server.removeAllListeners(EVENT);
  server.on(EVENT, (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    // Until somebody has it, nobody but us would hear of a connection that breaks.
    const leave = (): void => void socket.destroy();
    socket.on('error', leave);
    isRefused(request, response).then((refused) => {
      if (refused || socket.destroyed) return;
      response.detachSocket(socket);
      socket.off('error', leave);
      for (const listener of listeners) listener.call(server, request, socket, head);
    }, leave);
  });
}

function listens(server: Server | undefined): server is Server {
  return server !== undefined && server.listenerCount(EVENT) > 0;
}
