import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { MILLION } from './settings.mjs';

const CONTENDERS = ['nestjs-sluice', 'rate-limiter-flexible'];

/**
 * Counters in this process: decisions a second, and memory as ever more keys come. In processes of
 * their own, as an app has them: one that has used Redis too runs code compiled for both.
 */
export function inProcess() {
  const memory = CONTENDERS.map((name) => [name, run('many-keys', name, MILLION)]);
  return { speed: run('speed', ...process.argv.slice(2)), memory: Object.fromEntries(memory) };
}

function run(script, ...args) {
  const path = join(import.meta.dirname, `in-process/${script}.mjs`);
  const options = { encoding: 'utf8' };
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', path, ...args], options));
}
