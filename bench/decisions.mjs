import { bareEvalsha } from './contenders/bare-evalsha.mjs';
import { leastScript, ownScript } from './contenders/own-script.mjs';
import { rateLimitRedis } from './contenders/rate-limit-redis.mjs';
import { rateLimiterFlexible } from './contenders/rate-limiter-flexible.mjs';
import { sluice } from './contenders/sluice.mjs';
import { throttler } from './contenders/throttler.mjs';
import { measure } from './measure.mjs';
import { alternate } from './rounds.mjs';
import { IN_FLIGHT, PROBE_MS, PROBE_ROUNDS, ROUNDS, ROUND_MS } from './settings.mjs';

const PEERS = [rateLimiterFlexible, throttler, rateLimitRedis];
const PLAIN = { autoPipelining: false };
const PIPELINED = { autoPipelining: true };

/** Decisions through Redis: by number in flight, what each contender reached. */
export async function decisions(redis, tiers) {
  const results = {};
  for (const inFlight of IN_FLIGHT) {
    const peers = [];
    const clients = {};
    for (const peer of PEERS) {
      const { name, client } = await fasterClient(redis, peer, tiers, inFlight);
      clients[name] = client === PIPELINED ? 'auto pipelining' : 'plain';
      peers.push(peer(tiers, client));
    }
    const contenders = [sluice(tiers), ...peers, ...(tiers.length === 1 ? floor(inFlight) : [])];
    results[inFlight] = {
      clients,
      contenders: await run(redis, contenders, { inFlight, ms: ROUND_MS, rounds: ROUNDS }),
    };
  }
  return results;
}

/** With the client as ours is: auto pipelining would delay a single call by a turn of the loop. */
function floor(inFlight) {
  const scripts = inFlight > 1 ? [bareEvalsha] : [bareEvalsha, leastScript, ownScript];
  return scripts.map((script) => script(PLAIN));
}

/** Each peer is given the client that is the faster for it. */
async function fasterClient(redis, peer, tiers, inFlight) {
  const candidates = [PLAIN, PIPELINED].map((client) => {
    const contender = peer(tiers, client);
    return { ...contender, peer: contender.name, name: String(client.autoPipelining), client };
  });
  const options = { inFlight, ms: PROBE_MS, rounds: PROBE_ROUNDS };
  const results = await run(redis, candidates, options);
  const speed = ({ name }) => results[name].medians.decisionsPerSecond;
  const fastest = candidates.reduce((a, b) => (speed(b) > speed(a) ? b : a));
  return { name: fastest.peer, client: fastest.client };
}

async function run(redis, contenders, { inFlight, ms, rounds }) {
  await redis.flush();
  for (const contender of contenders) await contender.setUp(redis.url);
  const results = await alternate(contenders, rounds, (contender) =>
    measure(contender, redis, { inFlight, ms }),
  );
  for (const contender of contenders) await contender.tearDown();
  return results;
}
