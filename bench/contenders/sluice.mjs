import { NestFactory } from '@nestjs/core';
import { LimiterService, RateLimitModule } from '../sluice.mjs';
import { LIMIT } from '../settings.mjs';

class App {}

/** LimiterService as an app gets it: names of tiers, hashed keys, deadline and failover included. */
export function sluice(tiers, { limit = LIMIT, algorithm = 'fixed-window', ...options } = {}) {
  let app;
  let limiter;
  return {
    name: 'nestjs-sluice',
    async setUp(redisUrl) {
      const rateLimit = RateLimitModule.forRoot({
        redis: redisUrl,
        // Who is counted is made up, so nobody has to guess it.
        identity: { secret: 'a secret of the benchmark' },
        // The deadline of every call stands, but one hiccup of the machine ends no run.
        timeoutMs: 10_000,
        tiers: tiers.map(({ name, windowMs }) => ({ name, algorithm, limit, window: windowMs })),
        ...options,
      });
      app = await NestFactory.createApplicationContext(
        { module: App, imports: [rateLimit] },
        { logger: false },
      );
      limiter = app.get(LimiterService);
    },
    decide(key) {
      if (tiers.length === 1) return limiter.consume(tiers[0].name, key).then(isAdmitted);
      const charges = tiers.map(({ name }) => ({ policy: name, key }));
      return limiter.consumeAll(charges).then(({ decisions }) => decisions.every(isAdmitted));
    },
    tearDown: () => app.close(),
  };
}

/** What the fallback decides while Redis is slow would be measured as if it were Redis. */
function isAdmitted({ allowed, source }) {
  if (source === 'fallback') throw new Error('nestjs-sluice: Redis did not answer in time');
  return allowed;
}
