export type { AlgorithmName } from './algorithms/registry.js';
export { monotonicClock, type Clock } from './clock.js';
export type { ProblemBody, Refusal } from './http/problem.js';
export type { HeaderFamily } from './http/rate-limit-headers.js';
export type { ReportedTier } from './http/reported-tier.js';
export type { Client, ClientKind } from './identity/client.js';
export type {
  ApiKeyOptions,
  IdentityOptions,
  IpOptions,
  VerifiedKey,
} from './identity/identity-options.js';
export type { LimiterStatus, StoreKind } from './limiter-status.js';
export {
  LimiterService,
  type AcquireOptions,
  type CombinedDecision,
  type ConsumeOptions,
} from './limiter.service.js';
export type { DecisionCount, DecisionOutcome, MetricsSnapshot } from './metrics-snapshot.js';
export { RateLimitConfigurationError } from './policies/configuration-error.js';
export { definePolicy } from './policies/define-policy.js';
export type { Duration, DurationText } from './policies/duration.js';
export type { Policy, PolicyOptions, PolicyText } from './policies/policy.js';
export {
  RateLimit,
  RateLimitClient,
  RateLimitResult,
  SkipRateLimit,
} from './rate-limit.decorators.js';
export { RateLimitEvents, type RateLimitEventMap, type TierDecided } from './rate-limit.events.js';
export { RateLimitException } from './rate-limit.exception.js';
export { RateLimitGuard } from './rate-limit.guard.js';
export { RateLimitInterceptor } from './rate-limit.interceptor.js';
export { RateLimitMetrics } from './rate-limit.metrics.js';
export { RateLimitModule } from './rate-limit.module.js';
export type {
  RateLimitModuleExtras,
  RateLimitOptions,
  RateLimitOptionsFactory,
  RedisClusterOptions,
  RedisConnectionOptions,
  RedisSource,
} from './rate-limit.options.js';
export { RATE_LIMIT_MODULE_OPTIONS, RATE_LIMIT_REDIS } from './rate-limit.tokens.js';
export type { ChargeRequest, KeyRef, NamedPolicy, PolicyRef } from './service-charges.js';
export type { StoreFailure, StoreState, StoreStatus } from './stores/availability/store-health.js';
export { RateLimitUsageError } from './stores/check-cost.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export {
  RateLimitStore,
  type Charge,
  type Decision,
  type DecisionSource,
  type FailurePolicy,
  type Operation,
  type Verb,
} from './stores/rate-limit.store.js';
export { RedisClusterStore } from './stores/redis/redis-cluster.store.js';
export { RedisStore } from './stores/redis/redis.store.js';
export {
  fromNodeRedis,
  type EvalNumkeysClient,
  type EvalObjectClient,
  type Script,
  type ScriptRunner,
} from './stores/redis/script-runner.js';
export type { StoreErrorKind } from './stores/redis/store-error.js';
export type { RateLimitContext, Resolvable } from './tiers/rate-limit-context.js';
export type {
  CountedBy,
  Phase,
  RouteTierOptions,
  TierOptions,
  TierPolicy,
  TierSettings,
} from './tiers/tier-options.js';
