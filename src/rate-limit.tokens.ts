/** Injection token of the module's options as they were written. */
export const RATE_LIMIT_MODULE_OPTIONS = 'RATE_LIMIT_MODULE_OPTIONS';

/** Injection token of the Redis client; undefined when counters live in this process. */
export const RATE_LIMIT_REDIS = Symbol.for('nestjs-sluice:redis');
