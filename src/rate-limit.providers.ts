import type { Provider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { ChargeResolver } from './charge-resolver.js';
import { monotonicClock, type Clock } from './clock.js';
import { Edge } from './edge.js';
import { GuardReach } from './guard-reach.js';
import { CounterKeys, fieldsOf } from './identity/counter-keys.js';
import { LimiterService } from './limiter.service.js';
import { PhaseRunner } from './phase-runner.js';
import { ProxyWatch } from './proxy-watch.js';
import { RateLimitEvents } from './rate-limit.events.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RATE_LIMIT_MODULE_OPTIONS, RATE_LIMIT_REDIS } from './rate-limit.tokens.js';
import { RedisConnection } from './redis-connection.js';
import { RequestLimiter } from './request-limiter.js';
import { RoutePlans } from './route-plans.js';
import { SecretWatch } from './secret-watch.js';
import { ServiceCharges } from './service-charges.js';
import { DeniedCacheStore } from './stores/denied-cache.store.js';
import { FailoverStore } from './stores/failover/failover.store.js';
import { LocalLimiter } from './stores/failover/local-limiter.js';
import { GuardedStore } from './stores/guarded.store.js';
import { storeProbe } from './store-probe.js';
import { StoreWatch } from './store-watch.js';
import type { StoreHealth } from './stores/availability/store-health.js';
import { MemoryStore } from './stores/memory/memory.store.js';
import { RateLimitStore } from './stores/rate-limit.store.js';
import { RedisClusterStore } from './stores/redis/redis-cluster.store.js';
import { RedisStore } from './stores/redis/redis.store.js';
import { scriptRunnerFor } from './stores/redis/script-runner.js';
import type { Tier } from './tiers/tier.js';
import { OpenStore } from './stores/uncounted-decision.js';
import { Transports } from './transports/transports.js';

/** What the module is made of. */
export const RATE_LIMIT_PROVIDERS: Provider[] = [
  {
    provide: RateLimitSettings,
    useFactory: (options: unknown) => new RateLimitSettings(options),
    inject: [RATE_LIMIT_MODULE_OPTIONS],
  },
  RedisConnection,
  {
    provide: RATE_LIMIT_REDIS,
    // Here, so that whoever provides another client keeps this one from being opened.
    useFactory: (connection: RedisConnection) => connection.open(),
    inject: [RedisConnection],
  },
  {
    provide: RateLimitStore,
    useFactory: storeFor,
    inject: [RateLimitSettings, RATE_LIMIT_REDIS, RedisConnection, StoreWatch],
  },
  {
    provide: CounterKeys,
    useFactory: ({ prefix, identity, store, tiers }: RateLimitSettings, redis: unknown) =>
      new CounterKeys(
        prefix,
        identity.secret ?? '',
        store !== undefined || redis !== undefined,
        fieldsOf(sharedSpaces(tiers)),
      ),
    inject: [RateLimitSettings, RATE_LIMIT_REDIS],
  },
  RateLimitEvents,
  RateLimitLog,
  StoreWatch,
  RoutePlans,
  ChargeResolver,
  RequestLimiter,
  Transports,
  ProxyWatch,
  SecretWatch,
  PhaseRunner,
  Edge,
  ServiceCharges,
  LimiterService,
  RateLimitGuard,
  RateLimitInterceptor,
  GuardReach,
];

/** What guards the whole app: the guard itself, so that a test's override reaches it. */
export const RATE_LIMIT_APP_PROVIDERS: Provider[] = [
  { provide: APP_GUARD, useExisting: RateLimitGuard },
  {
    provide: APP_INTERCEPTOR,
    // Nest passes over an interceptor that is none.
    useFactory: (plans: RoutePlans, interceptor: RateLimitInterceptor) =>
      plans.hasHandlerTiers ? interceptor : undefined,
    inject: [RoutePlans, RateLimitInterceptor],
  },
];

function storeFor(
  settings: RateLimitSettings,
  redis: unknown,
  connection: RedisConnection,
  watch: StoreWatch,
): RateLimitStore {
  const { clock, maxKeys, enabled, instances, onStoreFailure, deniedCache } = settings;
  const { health } = watch;
  if (!enabled) {
    watch.watch({ kind: 'none' });
    return new OpenStore();
  }
  const shared = sharedStore(settings, redis, connection, health);
  if (shared === undefined) {
    watch.watch({ kind: 'memory' });
    return new MemoryStore({ clock, maxKeys });
  }
  const fallback = new MemoryStore({ clock, maxKeys, source: 'fallback' });
  const local = new LocalLimiter(fallback, instances, clock);
  watch.watch({
    kind: settings.store === undefined ? 'redis' : 'custom',
    owed: () => local.owed,
    probe: storeProbe(shared, settings.prefix),
  });
  return new FailoverStore({
    store:
      deniedCache === undefined
        ? shared
        : new DeniedCacheStore({ store: shared, clock: eitherClock(clock), ...deniedCache }),
    local,
    onStoreFailure,
    health,
    clock: monotonicClock,
    onHandedBack: (keys) => watch.handedBack(keys),
  });
}

/** Undefined when counters live in this process. */
function sharedStore(
  { store, timeoutMs }: RateLimitSettings,
  client: unknown,
  connection: RedisConnection,
  health: StoreHealth,
): RateLimitStore | undefined {
  if (store !== undefined) return new GuardedStore(store, timeoutMs, health);
  if (client === undefined) return undefined;
  const runner = connection.explaining(scriptRunnerFor(client, 'redis'));
  const options = { timeoutMs, health };
  const shared =
    runner.isCluster === true
      ? new RedisClusterStore(runner, options)
      : new RedisStore(runner, options);
  connection.onReady(() => shared.look());
  return shared;
}

/**
 * Redis lives by real time, what stands in for it in a test by the app's clock: this one moves when
 * either does, so that no refusal outlives either.
 */
function eitherClock(clock: Clock): Clock {
  if (clock === monotonicClock) return clock;
  return { now: () => monotonicClock.now() + clock.now() };
}

/**
 * The tiers of the module are few and charged together, so their counters of one subject stand in one
 * value; what routes add is not, or a value would grow with the routes that are called.
 */
function sharedSpaces(tiers: readonly Tier[]): string[] {
  return tiers.flatMap(({ steadySpace }) => steadySpace ?? []);
}
