import { spawnSync } from 'node:child_process';

let found: string | undefined;

export function redisServerBinary(): string {
  found ??= find();
  return found;
}

function find(): string {
  const binary = process.env['REDIS_SERVER_BIN'] || 'redis-server';
  if (spawnSync(binary, ['--version'], { stdio: 'ignore' }).status === 0) return binary;
  throw new Error(
    `Cannot run ${binary}: install redis-server 7.0 or later (apt-get install redis-server, ` +
      'brew install redis) or set REDIS_SERVER_BIN to its path.',
  );
}
