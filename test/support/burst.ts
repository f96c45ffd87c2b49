import { build } from 'esbuild';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BurstOrder, BurstReport } from './burst-process.js';

/** Processes with a Redis connection each that ask all at the same time. */
export class Burst {
  private constructor(
    private readonly directory: string,
    private readonly children: readonly ChildProcess[],
  ) {}

  static async start(url: string, processes: number): Promise<Burst> {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-burst-'));
    const outfile = join(directory, 'burst-process.cjs');
    const source = join(__dirname, 'burst-process.ts');
    await build({
      entryPoints: [source],
      outfile,
      bundle: true,
      platform: 'node',
      target: 'node20',
      logLevel: 'error',
    });
    const children = Array.from({ length: processes }, () => fork(outfile, [url]));
    await Promise.all(children.map((child) => once(child, 'message')));
    return new Burst(directory, children);
  }

  /** How many of the calls were admitted, over all processes. */
  async admitted(order: BurstOrder): Promise<number> {
    const reports = this.children.map(async (child) => {
      const reported = once(child, 'message') as Promise<[BurstReport]>;
      child.send(order);
      const [{ admitted }] = await reported;
      return admitted;
    });
    return (await Promise.all(reports)).reduce((sum, admitted) => sum + admitted, 0);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.children.map((child) => {
        const exited = once(child, 'exit');
        child.disconnect();
        return exited;
      }),
    );
    rmSync(this.directory, { recursive: true });
  }
}
