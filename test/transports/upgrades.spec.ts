import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { guardUpgrades } from '../../src/transports/upgrades.js';

describe('guardUpgrades', () => {
  let server: Server;
  let accepted: number;
  let listeners: unknown;

  beforeEach(async () => {
    accepted = 0;
    server = createServer((_request, response) => response.end('not upgraded'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => void server.close());

  function accept(): void {
    server.on('upgrade', (_request: IncomingMessage, socket: Socket) => {
      accepted += 1;
      listeners = socket.eventNames().map((name) => [name, socket.listenerCount(name)]);
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
  }

  /** Status of the answer, or the code of the error. */
  function upgrade(): Promise<unknown> {
    const { port } = server.address() as AddressInfo;
    const headers = { connection: 'Upgrade', upgrade: 'x' };
    const asked = request({ port, host: '127.0.0.1', headers }).end();
    return new Promise((resolve) => {
      asked.on('upgrade', ({ statusCode }) => resolve(statusCode));
      asked.on('response', ({ statusCode }) => resolve(statusCode));
      asked.on('error', ({ message }) => resolve(message));
    });
  }

  it('lets through, or lets answer instead', async () => {
    accept();
    let isOver = false;
    guardUpgrades(server, async (_request, response) => {
      if (isOver) response.writeHead(429).end();
      return isOver;
    });

    expect(await upgrade()).toBe(101);
    isOver = true;
    expect(await upgrade()).toBe(429);
    expect(accepted).toBe(1);
  });

  it('hands a connection over as it came', async () => {
    accept();
    await upgrade();
    const unguarded = listeners;
    guardUpgrades(server, async () => false);

    await upgrade();

    expect(listeners).toEqual(unguarded);
  });

  it('lets a server be that takes no upgrades, which answers them as requests', async () => {
    guardUpgrades(server, async () => false);

    expect(await upgrade()).toBe(200);
  });

  // Nobody but us listens to the connection by then: unheard, either would end the process.
  it.each<[string, (asked: IncomingMessage) => Promise<boolean>]>([
    [
      'breaks',
      async ({ socket }) => {
        socket.destroy(new Error('reset'));
        await new Promise((resolve) => socket.once('close', resolve));
        return false;
      },
    ],
    ['cannot be decided', () => Promise.reject(new Error('no store'))],
  ])('closes a connection that %s, and goes on', async (_what, decide) => {
    accept();
    let isFirst = true;
    guardUpgrades(server, async (asked) => {
      if (!isFirst) return false;
      isFirst = false;
      return decide(asked);
    });

    expect(await upgrade()).toBe('socket hang up');
    expect(await upgrade()).toBe(101);
    expect(accepted).toBe(1);
  });
});
