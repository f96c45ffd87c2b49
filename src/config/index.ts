import { registerAs } from '@nestjs/config';
import { optionsFromEnvironment } from './environment.js';

export { optionsFromEnvironment } from './environment.js';

/**
 * The environment as a namespace of `@nestjs/config`:
 * `RateLimitModule.forRootAsync(rateLimitConfig.asProvider())`.
 */
export const rateLimitConfig = registerAs('rateLimit', () => optionsFromEnvironment(process.env));
