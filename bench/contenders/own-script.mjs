import { connect } from '../redis-client.mjs';
import { KEYS, LIMIT, MINUTE } from '../settings.mjs';
import { DECIDE_SCRIPT, definePolicy, encode } from '../sluice.mjs';

/** The script of nestjs-sluice, with arguments made beforehand and its reply unread. */
export function ownScript(client) {
  const calls = new Map(KEYS.map((key) => [key, callFor(key)]));
  let redis;
  return {
    name: 'own script, called bare',
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      await redis.script('LOAD', DECIDE_SCRIPT.lua);
    },
    decide: async (key) => (await redis.evalsha(...calls.get(key)))[1] >= 0,
    tearDown: () => redis.disconnect(),
  };
}

function callFor(key) {
  const policy = definePolicy(MINUTE.name, {
    algorithm: 'fixed-window',
    limit: LIMIT,
    window: MINUTE.windowMs,
  });
  const charges = [{ policy, key: `own:${key}`, cost: 1 }];
  const { keys, args } = encode([{ verb: 'consume', charges }]);
  return [DECIDE_SCRIPT.sha, keys.length, ...keys, ...args];
}
