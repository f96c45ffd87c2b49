import type { Provider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { ChargeResolver } from './charge-resolver.js';
import { Edge } from './edge.js';
import { CounterKeys } from './identity/counter-keys.js';
import { LimiterService } from './limiter.service.js';
import { PhaseRunner } from './phase-runner.js';
import { ProxyWatch } from './proxy-watch.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RATE_LIMIT_MODULE_OPTIONS, RATE_LIMIT_REDIS } from './rate-limit.tokens.js';
import { RedisConnection } from './redis-connection.js';
import { RequestLimiter } from './request-limiter.js';
import { RoutePlans } from './route-plans.js';
import { ServiceCharges } from './service-charges.js';
import { FailoverStore } from './stores/failover.store.js';
import { MemoryStore } from './stores/memory/memory.store.js';
import { RateLimitStore } from './stores/rate-limit.store.js';
import { RedisClusterStore } from './stores/redis/redis-cluster.store.js';
import { RedisStore } from './stores/redis/redis.store.js';
import { scriptRunnerFor } from './stores/redis/script-runner.js';
import { OpenStore } from './stores/uncounted-decision.js';
import { Transports } from './transports/transports.js';

/** What the module is made of. */
export const RATE_LIMIT_PROVIDERS: Provider[] = [
  {
    provide: RateLimitSettings,
    useFactory: (options: unknown) => new RateLimitSettings(options),
    inject: [RATE_LIMIT_MODULE_OPTIONS],
  },
  {
    provide: RedisConnection,
    useFactory: (settings: RateLimitSettings) => RedisConnection.open(settings),
    inject: [RateLimitSettings],
  },
  {
    provide: RATE_LIMIT_REDIS,
    useFactory: ({ client }: RedisConnection) => client,
    inject: [RedisConnection],
  },
  {
    provide: RateLimitStore,
    useFactory: storeFor,
    inject: [RateLimitSettings, RATE_LIMIT_REDIS, RateLimitLog],
  },
  {
    provide: CounterKeys,
    useFactory: ({ prefix, identity }: RateLimitSettings) =>
      new CounterKeys(prefix, identity.secret ?? ''),
    inject: [RateLimitSettings],
  },
  RateLimitLog,
  RoutePlans,
  ChargeResolver,
  RequestLimiter,
  Transports,
  ProxyWatch,
  PhaseRunner,
  Edge,
  ServiceCharges,
  LimiterService,
  RateLimitGuard,
  RateLimitInterceptor,
];

/** What guards the whole app: the guard itself, so that a test's override reaches it. */
export const RATE_LIMIT_APP_PROVIDERS: Provider[] = [
  { provide: APP_GUARD, useExisting: RateLimitGuard },
  { provide: APP_INTERCEPTOR, useExisting: RateLimitInterceptor },
];

function storeFor(settings: RateLimitSettings, redis: unknown, log: RateLimitLog): RateLimitStore {
  const { store, clock, maxKeys, enabled, timeoutMs, instances, onStoreFailure } = settings;
  if (!enabled) return new OpenStore();
  const shared = store ?? redisStoreFor(redis);
  if (shared === undefined) return new MemoryStore({ clock, maxKeys });
  return new FailoverStore({
    store: shared,
    fallback: new MemoryStore({ clock, maxKeys, source: 'fallback' }),
    timeoutMs,
    instances,
    onStoreFailure,
    onTransition: (error) => log.storeChanged(error),
  });
}

function redisStoreFor(client: unknown): RateLimitStore | undefined {
  if (client === undefined) return undefined;
  const runner = scriptRunnerFor(client, 'redis');
  return runner.isCluster === true ? new RedisClusterStore(runner) : new RedisStore(runner);
}
