import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisServerBinary } from './binary.js';
import { freePorts } from './free-ports.js';
import { Watchdog } from './watchdog.js';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 10_000;
const START_ATTEMPTS = 3;
const READY = /Ready to accept connections|\+monitor master/;
const PORT_TAKEN = /Failed listening on port/;

// The delay, 5 s by default, would hold up every replica.
const DEFAULTS = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'];

export interface RedisServerOptions {
  /** A free one by default. */
  readonly port?: number;
  /** Further command line arguments: `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[];
  /** Contents of a configuration file that the server may rewrite, as a sentinel does. */
  readonly config?: string;
}

/** A real redis-server of its own: in memory, on a free port, gone with the test process. */
export class RedisServer {
  readonly host = HOST;
  private process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly argv: readonly string[],
    private readonly watchdog: Watchdog,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = await RedisServer.prepare(options);
      try {
        await server.launch();
        return server;
      } catch (error) {
        await server.stop();
        // Another process may take a port between its release and the server's start.
        const again = options.port === undefined && PORT_TAKEN.test(String(error));
        if (!again || attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Stops answering but keeps connections open, as a hung server does. */
  pause(): void {
    this.process?.kill('SIGSTOP');
  }

  resume(): void {
    this.process?.kill('SIGCONT');
  }

  /** Dies without a goodbye; its data is lost. */
  async kill(): Promise<void> {
    if (this.process === undefined) return;
    const exited = once(this.process, 'exit');
    this.process.ref();
    this.process.kill('SIGKILL');
    await exited;
  }

  /** Comes back empty, on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.launch();
  }

  /** For good: its folder goes too. */
  async stop(): Promise<void> {
    await this.kill();
    await this.watchdog.finish();
  }

  private static async prepare(options: RedisServerOptions): Promise<RedisServer> {
    const port = options.port ?? (await freePorts(1))[0]!;
    const directory = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
    const argv = ['--port', String(port), '--bind', HOST, '--dir', directory, ...DEFAULTS];
    if (options.config !== undefined) {
      const file = join(directory, 'redis.conf');
      writeFileSync(file, options.config);
      argv.unshift(file);
    }
    return new RedisServer(port, [...argv, ...(options.args ?? [])], new Watchdog(directory));
  }

  private async launch(): Promise<void> {
    const child = spawn(redisServerBinary(), this.argv, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.process = child;
    if (child.pid !== undefined) this.watchdog.guard(child.pid);
    child.once('exit', () => {
      this.process = undefined;
      this.watchdog.forget();
    });

    await untilReady(child);
    child.unref();
  }
}

/** The server's own log line says so; nothing needs polling. */
async function untilReady(child: ChildProcess): Promise<void> {
  const output = child.stdout as Socket;
  let log = '';
  await new Promise<void>((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`redis-server ${what}:\n${log}`));
    const timer = setTimeout(() => fail('was not ready in time'), START_TIMEOUT_MS);
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      fail('ended');
    });
    output.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (!READY.test(log)) return;
      clearTimeout(timer);
      resolve();
    });
  });
  // Still read, or a full pipe would block the server.
  output.removeAllListeners('data').resume().unref();
}
