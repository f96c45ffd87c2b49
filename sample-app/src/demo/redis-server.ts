import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HOST = '127.0.0.1';
const ATTEMPTS = 3;
const START_TIMEOUT_MS = 10_000;

/** A redis-server of the demo's own: in memory, on a free port, gone with the demo. */
export class RedisServer {
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
    private readonly directory: string,
  ) {}

  /** Undefined where no redis-server is installed. */
  static async start(): Promise<RedisServer | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await RedisServer.launch();
      } catch (error) {
        const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        if (isMissing && !process.env.REDIS_SERVER_BIN) return undefined;
        // Another process may have taken the port in the meantime.
        if (isMissing || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    const exited = once(this.process, 'exit');
    if (this.process.kill('SIGKILL')) await exited;
    rmSync(this.directory, { recursive: true, force: true });
  }

  private static async launch(): Promise<RedisServer> {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
    const child = spawn(
      process.env.REDIS_SERVER_BIN || 'redis-server',
      ['--port', `${port}`, '--bind', HOST, '--dir', directory, '--save', '', '--appendonly', 'no'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const server = new RedisServer(`redis://${HOST}:${port}`, child, directory);
    try {
      await untilReady(child);
    } catch (error) {
      child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
    // For a demo that ends before it stops the server.
    process.once('exit', () => child.kill('SIGKILL'));
    return server;
  }
}

/** The server's own log line says so; nothing needs polling. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (): void => reject(new Error(`redis-server did not start:\n${log}`));
    setTimeout(fail, START_TIMEOUT_MS).unref();
    child.once('error', reject);
    child.once('exit', fail);
    // Read to the end, or a full pipe would block the server.
    child.stdout?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes('Ready to accept connections')) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
