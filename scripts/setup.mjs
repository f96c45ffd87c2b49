// First step of `npm test` and `npm run demo`: makes a machine with only Node and npm ready.
// Usage: node scripts/setup.mjs test|demo
import { installDependencies } from './setup/dependencies.mjs';
import { findRedisServer, installRedisServer } from './setup/redis-server.mjs';

const command = process.argv[2];

try {
  installDependencies();
  if (findRedisServer() === undefined) withoutRedisServer();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function withoutRedisServer() {
  if (command === 'demo') {
    console.log('No redis-server found: the demo runs in-process.');
    return;
  }
  installRedisServer();
  if (findRedisServer() === undefined) {
    throw new Error(
      'The tests need a redis-server (7.0 or later) and none could be installed: ' +
        'install it (apt-get install redis-server, brew install redis, apk add redis, dnf install redis) ' +
        'or set REDIS_SERVER_BIN to its path.',
    );
  }
}
