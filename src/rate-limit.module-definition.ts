import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { RateLimitModuleExtras, RateLimitOptions } from './rate-limit.options.js';
import { RATE_LIMIT_APP_PROVIDERS } from './rate-limit.providers.js';
import { RATE_LIMIT_MODULE_OPTIONS } from './rate-limit.tokens.js';

const EXTRAS: RateLimitModuleExtras = { isGlobal: true, registerGuard: true };

/** Nest's own `forRoot` and `forRootAsync`. */
export const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RateLimitOptions>({
    optionsInjectionToken: RATE_LIMIT_MODULE_OPTIONS,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .setExtras(EXTRAS, (definition, { isGlobal = true, registerGuard = true }) => ({
      ...definition,
      global: isGlobal,
      providers: [
        ...(definition.providers ?? []),
        ...(registerGuard ? RATE_LIMIT_APP_PROVIDERS : []),
      ],
    }))
    .build();
