import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { FIXTURES, NODE_MODULES } from './paths.js';
import { run } from './run.js';

const FIXTURE = join(FIXTURES, 'nest-11');
const CACHE = join(NODE_MODULES, '.cache/nestjs-sluice');

/** Nest 11 with ioredis 5, installed once for each state of the fixture's lock file. */
export async function nest11Modules(): Promise<string> {
  const lock = readFileSync(join(FIXTURE, 'package-lock.json'));
  const name = `nest-11-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`;
  const installed = join(CACHE, name);
  if (!existsSync(installed)) await install(installed);
  return join(installed, 'node_modules');
}

/** Elsewhere first, so that what is there under its name is complete. */
async function install(target: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const directory = mkdtempSync(`${target}-`);
  try {
    cpSync(FIXTURE, directory, { recursive: true });
    const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    await run('npm', ['ci', '--silent', ...flags], { cwd: directory });
    renameSync(directory, target);
  } catch (error) {
    // Another process may have been first.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
