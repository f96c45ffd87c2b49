import { RateLimitSettings } from '../../src/rate-limit.settings.js';
import { RedisConnection } from '../../src/redis-connection.js';
import { scriptRunnerFor } from '../../src/stores/redis/script-runner.js';

/** Runs in a process of its own, which ends when nothing keeps it alive. See ending-process.ts. */
const connection = new RedisConnection(
  new RateLimitSettings({ redis: JSON.parse(process.argv[2]!) as object }),
);
const script = { lua: 'return 1', sha: 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db' };

void connection.open().then((client) => {
  const runner = scriptRunnerFor(client, 'redis');
  process.on('message', () => {
    // One that is under way when the connection is closed.
    runner.run(script, [], []).catch(() => undefined);
    connection.onApplicationShutdown();
    process.disconnect();
  });
  process.send!('open');
});
