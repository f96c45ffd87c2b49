import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

// Reads the process to kill from its input, which also closes when the test process dies of SIGKILL.
const SCRIPT = `
trap '' HUP INT TERM
while read -r line; do pid=$line; done
[ -z "$pid" ] || kill -9 "$pid"
rm -rf "$1"
`;

/**
 * Removes a server and its folder however the test process ends. Jest gives specs a copy of
 * `process` whose exit hooks never run, so this has to be a process of its own.
 */
export class Watchdog {
  private readonly shell: ChildProcess;
  private readonly input: Socket;

  constructor(directory: string) {
    this.shell = spawn('sh', ['-c', SCRIPT, 'watchdog', directory], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.input = this.shell.stdin as Socket;
    this.shell.unref();
    this.input.unref();
  }

  guard(pid: number): void {
    this.input.write(`${pid}\n`);
  }

  /** Call when the guarded process has ended: its id may soon be another's. */
  forget(): void {
    this.input.write('\n');
  }

  async finish(): Promise<void> {
    if (this.shell.exitCode !== null) return;
    const exited = once(this.shell, 'exit');
    this.shell.ref();
    this.input.end();
    await exited;
  }
}
