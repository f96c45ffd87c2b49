import { createHash } from 'node:crypto';
import { connect } from '../redis-client.mjs';
import { KEYS, LIMIT, MINUTE } from '../settings.mjs';
import { DECIDE_SCRIPT, definePolicy, encode, planOf } from '../sluice.mjs';

/** What any script does that has our arguments, a clock, and a value that is read and written. */
const LEAST = `
local time = redis.call('TIME')
local value = redis.call('MGET', KEYS[1])[1]
redis.call('SET', KEYS[1], value or '${'x'.repeat(24)}', 'PX', 61000)
return { time[1] * 1000 + math.floor(time[2] / 1000), 1, 1 }`;

/** The script of nestjs-sluice, with arguments made beforehand and its reply unread. */
export function ownScript(client) {
  return bare('own script, called bare', DECIDE_SCRIPT.lua, client);
}

/** The same without any law. */
export function leastScript(client) {
  return bare('its arguments, a read, a write', LEAST, client);
}

function bare(name, lua, client) {
  const sha = createHash('sha1').update(lua).digest('hex');
  const calls = new Map(KEYS.map((key) => [key, [sha, ...callFor(name, key)]]));
  let redis;
  return {
    name,
    async setUp(redisUrl) {
      redis = await connect(redisUrl, client);
      await redis.script('LOAD', lua);
    },
    decide: async (key) => (await redis.evalsha(...calls.get(key)))[1] >= 0,
    tearDown: () => redis.disconnect(),
  };
}

function callFor(name, key) {
  const policy = definePolicy(MINUTE.name, {
    algorithm: 'fixed-window',
    limit: LIMIT,
    window: MINUTE.windowMs,
  });
  const charges = [{ policy, key: `${name}:${key}`, cost: 1 }];
  const { keys, args } = encode([planOf({ verb: 'consume', charges })]);
  return [keys.length, ...keys, ...args];
}
