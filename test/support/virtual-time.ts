import type { Script, ScriptRunner } from '../../src/stores/redis/script-runner.js';
import { createHash } from 'node:crypto';

/**
 * Runs the real script on real Redis at a time of the test's choosing: its one reading of TIME is
 * replaced by two more arguments. Keys live long, because Redis's own clock does not move along.
 */
export function atTime(runner: ScriptRunner, now: () => number): ScriptRunner {
  return {
    run(script, keys, args) {
      const time = [Math.floor(now() / 1000), (now() % 1000) * 1000].map(String);
      return runner.run(virtual(script), keys, [...args, ...time]);
    },
  };
}

let made: Script | undefined;

function virtual({ lua }: Script): Script {
  made ??= withSha(
    replaceOnce(
      replaceOnce(lua, "redis.call('TIME')", '{ ARGV[#ARGV - 1], ARGV[#ARGV] }'),
      'local SKEW_MS = 1000',
      'local SKEW_MS = 10000000',
    ),
  );
  return made;
}

function replaceOnce(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`the script has '${from}' ${parts.length - 1} times`);
  return parts.join(to);
}

function withSha(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
