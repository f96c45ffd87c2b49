import { connect } from '../redis-client.mjs';
import { MINUTE } from '../settings.mjs';

const LUA = `
local hits = redis.call('INCR', KEYS[1])
if hits == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return hits`;

/** What no limiter can be faster than one call at a time: the least script that counts. */
export function bareEvalsha(client) {
  let redis;
  let sha;
  return {
    name: 'bare EVALSHA',
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      sha = await redis.script('LOAD', LUA);
    },
    decide: async (key) => (await redis.evalsha(sha, 1, `bare:${key}`, MINUTE.windowMs)) > 0,
    tearDown: () => redis.disconnect(),
  };
}
