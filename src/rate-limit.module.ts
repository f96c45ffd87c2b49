import { Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { LimiterService } from './limiter.service.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import {
  ConfigurableModuleClass,
  type ASYNC_OPTIONS_TYPE,
  type OPTIONS_TYPE,
} from './rate-limit.module-definition.js';
import { checkBoolean, checkObject } from './policies/checks.js';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
import { RateLimitEvents } from './rate-limit.events.js';
import { RATE_LIMIT_PROVIDERS } from './rate-limit.providers.js';
import { OPTION_NAMES } from './rate-limit.settings.js';
import { RATE_LIMIT_REDIS } from './rate-limit.tokens.js';
import { PhaseRunner } from './phase-runner.js';
import { RateLimitStore } from './stores/rate-limit.store.js';

/**
 * Rate limiting for the whole app. Import it once, in the root module, after the guards that
 * authenticate.
 */
@Module({
  imports: [DiscoveryModule],
  providers: RATE_LIMIT_PROVIDERS,
  // What the guard, the interceptor and RateLimitMetrics depend on is exported so that they can be
  // used anywhere.
  exports: [
    LimiterService,
    RateLimitGuard,
    RateLimitInterceptor,
    PhaseRunner,
    RateLimitEvents,
    RateLimitStore,
    RATE_LIMIT_REDIS,
  ],
})
export class RateLimitModule extends ConfigurableModuleClass {
  /** Every option is checked at boot; see `RateLimitOptions`. */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    // Here, because Nest copies what it is given: null would fail there, `__proto__` become one.
    checkExtras(checkObject(options, 'options', [...OPTION_NAMES, ...EXTRAS]));
    return super.forRoot(options);
  }

  /**
   * The same from `useFactory`, `useClass` or `useExisting`, with `inject` and `imports`.
   * `isGlobal` and `registerGuard` stand beside them.
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    const given = checkObject(options, 'forRootAsync', [...ASYNC, ...EXTRAS]);
    checkExtras(given);
    if (FACTORIES.filter((name) => given[name] !== undefined).length !== 1) {
      throw new RateLimitConfigurationError(
        'forRootAsync',
        `expected one of ${FACTORIES.join(', ')}, which makes the options`,
      );
    }
    return super.forRootAsync(options);
  }
}

const EXTRAS = ['isGlobal', 'registerGuard'];
const FACTORIES = ['useFactory', 'useClass', 'useExisting'];
const ASYNC = [...FACTORIES, 'inject', 'imports', 'provideInjectionTokensFrom'];

function checkExtras(options: Record<string, unknown>): void {
  for (const name of EXTRAS) checkBoolean(options[name] ?? true, name);
}
