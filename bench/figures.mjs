import { ratio } from './statistics.mjs';

const OWN = 'nestjs-sluice';
const PEERS = ['rate-limiter-flexible', '@nestjs/throttler', 'rate-limit-redis'];

/** What the contract promises, beside what was measured. */
export function figures({ oneTier, threeTiers, inProcess, http, memoryPerKey }) {
  const one = oneTier[128].contenders;
  const three = threeTiers[128].contenders;
  const single = oneTier[1].contenders;
  return [
    atLeast(3, 'one tier, decisions/s, 128 in flight', againstMost(one, 'decisionsPerSecond')),
    atLeast(
      4.5,
      'three tiers, decisions/s, 128 in flight',
      againstMost(three, 'decisionsPerSecond'),
    ),
    atMost(1 / 3, 'one tier, Node CPU per decision', againstLeast(one, 'nodeCpuUs')),
    atMost(1 / 3, 'three tiers, Node CPU per decision', againstLeast(three, 'nodeCpuUs')),
    atMost(1 / 2, 'three tiers, Redis CPU per decision', againstLeast(three, 'redisCpuUs')),
    atMost(1.15, 'a single call, p50', against(single, 'bare EVALSHA', 'p50Ms')),
    ...Object.entries({ fastify: 0.85, express: 0.93 }).map(([platform, figure]) =>
      atLeast(figure, `${platform}, three tiers, requests/s`, againstNone(http[platform])),
    ),
    atLeast(
      1.5,
      'in process, decisions/s',
      against(inProcess.speed, 'rate-limiter-flexible', 'decisionsPerSecond'),
    ),
    atMost(1.1, 'in process, heap after four times the keys it keeps', {
      measured: inProcess.memory[OWN].growthWithFourTimes,
      against: 'its heap after twice as many',
    }),
    ...Object.entries(memoryPerKey.logs).map(([entries, { log, sortedSet }]) =>
      atMost(1 / 3, `Redis bytes, log of ${entries}`, {
        measured: log.memoryUsage / sortedSet.memoryUsage,
        against: 'a sorted set of timestamps',
      }),
    ),
    atMost(120, 'Redis bytes per key, the largest of the others', largest(memoryPerKey.counters)),
  ];
}

function atLeast(figure, what, { measured, against: other }) {
  return { what, against: other, figure, is: 'at least', measured, isMet: measured >= figure };
}

function atMost(figure, what, { measured, against: other }) {
  return { what, against: other, figure, is: 'at most', measured, isMet: measured <= figure };
}

function againstMost(contenders, field) {
  const value = (name) => contenders[name].medians[field];
  return against(
    contenders,
    PEERS.reduce((a, b) => (value(b) > value(a) ? b : a)),
    field,
  );
}

function againstLeast(contenders, field) {
  const value = (name) => contenders[name].medians[field];
  return against(
    contenders,
    PEERS.reduce((a, b) => (value(b) < value(a) ? b : a)),
    field,
  );
}

function against(contenders, other, field) {
  return {
    measured: ratio(contenders[OWN].rounds, contenders[other].rounds, field),
    against: other,
  };
}

function againstNone(apps) {
  const own = apps[`${OWN}, three tiers`].rounds;
  return {
    measured: ratio(own, apps.none.rounds, 'requestsPerSecond'),
    against: 'the app without',
  };
}

function largest(counters) {
  const own = Object.entries(counters).filter(([name]) => !PEERS.includes(name));
  const [name, { memoryUsage }] = own.reduce((a, b) =>
    b[1].memoryUsage > a[1].memoryUsage ? b : a,
  );
  return { measured: memoryUsage, against: `bytes of ${name}` };
}
