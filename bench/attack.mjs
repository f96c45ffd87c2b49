import { rateLimitRedis } from './contenders/rate-limit-redis.mjs';
import { rateLimiterFlexible } from './contenders/rate-limiter-flexible.mjs';
import { sluice } from './contenders/sluice.mjs';
import { throttler } from './contenders/throttler.mjs';
import { measure } from './measure.mjs';
import { alternate } from './rounds.mjs';
import { ROUNDS, ROUND_MS } from './settings.mjs';
import { OPTION_NAMES } from './sluice.mjs';

const TIERS = [{ name: 'hour', windowMs: 3_600_000 }];
const LIMIT = 10;
const ATTACKER = ['attacker'];
const IN_FLIGHT = 64;
const PIPELINED = { autoPipelining: true };

/** One client far past its limit, 64 in flight: every decision is a refusal. */
export async function attack(redis) {
  await redis.flush();
  const hasCache = OPTION_NAMES.includes('deniedCache');
  const limited = contenders(hasCache);
  for (const contender of limited) {
    await contender.setUp(redis.url);
    while (await contender.decide(ATTACKER[0]));
  }
  const options = { inFlight: IN_FLIGHT, ms: ROUND_MS / 2, keys: ATTACKER, expected: false };
  const results = await alternate(limited, ROUNDS, (contender) =>
    measure(contender, redis, options),
  );
  for (const contender of limited) await contender.tearDown();
  const note = 'skipped: this build has no option deniedCache';
  return { contenders: results, ...(!hasCache && { deniedCache: note }) };
}

function contenders(hasCache) {
  const caches = hasCache ? [false, true] : [undefined];
  const blocking = { limit: LIMIT, inMemoryBlockOnConsumed: LIMIT };
  return [
    ...caches.map((deniedCache) => ({
      ...sluice(TIERS, {
        limit: LIMIT,
        ...(hasCache && { deniedCache, prefix: `${deniedCache}` }),
      }),
      name: `nestjs-sluice${deniedCache === true ? ', denied cache' : ''}`,
    })),
    rateLimiterFlexible(TIERS, PIPELINED, { limit: LIMIT }),
    {
      ...rateLimiterFlexible(TIERS, PIPELINED, { ...blocking, keyPrefix: 'blocking' }),
      name: 'rate-limiter-flexible, inMemoryBlockOnConsumed',
    },
    throttler(TIERS, PIPELINED, { limit: LIMIT }),
    rateLimitRedis(TIERS, PIPELINED, { limit: LIMIT }),
  ];
}
