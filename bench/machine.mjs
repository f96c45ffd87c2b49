import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { redisVersion } from './redis-server.mjs';

const require = createRequire(import.meta.url);
const PACKAGES = [
  ...['rate-limiter-flexible', '@nestjs/throttler', '@nest-lab/throttler-storage-redis'],
  ...['rate-limit-redis', 'ioredis', '@nestjs/core', 'fastify', 'express', 'autocannon'],
];

/** On what was measured, and what. */
export function machine() {
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0].model,
    cores: cpus().length,
    node: process.version,
    redis: redisVersion(),
    versions: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  };
}

/** Read from its folder: not every package exports its package.json. */
function versionOf(name) {
  for (const folder of require.resolve.paths(name)) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}
