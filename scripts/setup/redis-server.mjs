import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

// Debian starts a service as it is installed and at every boot; the tests start their own servers.
// A policy-rc.d that is already there is the administrator's and stays.
const APT_INSTALL = `
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends redis-server
if command -v systemctl > /dev/null; then systemctl --quiet disable redis-server || true; fi
`;

const INSTALLERS = [
  { manager: 'apt-get', argv: ['sh', '-c', APT_INSTALL], needsRoot: true },
  { manager: 'apk', argv: ['apk', 'add', '--quiet', 'redis'], needsRoot: true },
  { manager: 'dnf', argv: ['dnf', 'install', '-y', '-q', 'redis'], needsRoot: true },
  { manager: 'brew', argv: ['brew', 'install', '--quiet', 'redis'], needsRoot: false },
];

export function findRedisServer() {
  const named = process.env.REDIS_SERVER_BIN;
  if (!named) return onPath('redis-server');
  const found = executable(named) ?? onPath(named);
  if (found === undefined) throw new Error(`REDIS_SERVER_BIN is ${named}, which cannot be run.`);
  return found;
}

/** Tries the system's own package manager where that needs no password; the caller looks again. */
export function installRedisServer() {
  const installer = INSTALLERS.find(({ manager }) => onPath(manager) !== undefined);
  const prefix = installer?.needsRoot ? asRoot() : [];
  if (installer === undefined || prefix === undefined) return;

  console.log(`Installing redis-server (${installer.manager})`);
  const [command, ...args] = [...prefix, ...installer.argv];
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The words to put before a command so that it runs as root, or undefined where that is not allowed. */
function asRoot() {
  if (process.getuid?.() === 0) return [];
  const allowed = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  return allowed ? ['sudo', '-n'] : undefined;
}

function onPath(name) {
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return directories.map((directory) => executable(join(directory, name))).find(Boolean);
}

function executable(file) {
  try {
    accessSync(file, constants.X_OK);
    return file;
  } catch {
    return undefined;
  }
}
