import { build } from 'esbuild';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How long a process that has opened the module's connection lives on after it has closed it. */
export async function msToEnd(redis: unknown, strike: () => unknown): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-connection-'));
  const outfile = join(directory, 'connection-process.cjs');
  await build({
    entryPoints: [join(__dirname, 'connection-process.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    external: [
      '@nestjs/microservices',
      '@nestjs/websockets',
      'class-validator',
      'class-transformer',
    ],
  });
  const child = fork(outfile, [JSON.stringify(redis)], { silent: true });
  try {
    await once(child, 'message');
    await strike();
    const ended = once(child, 'exit');
    const start = performance.now();
    child.send('close');
    await ended;
    return performance.now() - start;
  } finally {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  }
}
