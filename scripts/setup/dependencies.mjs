import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Runs `npm ci` unless node_modules holds what package-lock.json asks for. */
export function installDependencies() {
  if (isCurrent()) return;
  console.log('Installing dependencies (npm ci)');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // npm is a .cmd file on Windows, which only a shell runs.
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error('npm ci failed; see its output above.');
}

// Compared by content: a checkout changes the times of files that are the same.
function isCurrent() {
  const installed = packagesIn('node_modules/.package-lock.json');
  const wanted = packagesIn('package-lock.json');
  if (installed === undefined || wanted === undefined) return false;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '') return true; // the project itself
    const found = installed[path];
    // Optional packages are absent where they are for another platform.
    return found === undefined ? optional : found.version === version;
  });
}

function packagesIn(lockFile) {
  try {
    return JSON.parse(readFileSync(join(root, lockFile), 'utf8')).packages;
  } catch {
    return undefined;
  }
}
