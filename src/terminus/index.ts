export {
  RateLimitHealthIndicator,
  type RateLimitHealthOptions,
} from './rate-limit.health-indicator.js';
