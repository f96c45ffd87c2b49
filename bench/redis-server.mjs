import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from './redis-client.mjs';

const BINARY = process.env.REDIS_SERVER_BIN || 'redis-server';

/** A redis-server of the benchmark's own: in memory, on a free port, gone when the process ends. */
export async function startRedis(settings = []) {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const child = spawn(
    BINARY,
    [
      ...['--port', port, '--bind', '127.0.0.1', '--dir', directory, '--save', ''],
      ...['--appendonly', 'no', ...settings],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  await ready(child);

  const url = `redis://127.0.0.1:${port}`;
  const admin = await connect(url);
  return {
    url,
    admin,
    flush: () => admin.flushall('SYNC'),
    cpuUs: async () => cpuUs(await admin.info('cpu')),
    usedMemory: async () => Number(field(await admin.info('memory'), 'used_memory')),
    async stop() {
      admin.disconnect();
      process.off('exit', kill);
      const exited = once(child, 'exit');
      kill();
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function redisVersion() {
  return /v=(\S+)/.exec(spawnSync(BINARY, ['--version'], { encoding: 'utf8' }).stdout)?.[1];
}

/** Of the thread that runs commands, since Redis 6.2. */
function cpuUs(info) {
  const seconds = (kind) =>
    Number(field(info, `used_cpu_${kind}_main_thread`) ?? field(info, `used_cpu_${kind}`));
  return (seconds('user') + seconds('sys')) * 1e6;
}

function field(info, name) {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

async function freePort() {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address();
  await once(holder.close(), 'close');
  return String(port);
}

async function ready(child) {
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    if (!String(chunk).includes('Ready to accept connections')) continue;
    child.stdout.resume();
    return;
  }
  throw new Error('redis-server ended before it was ready');
}
