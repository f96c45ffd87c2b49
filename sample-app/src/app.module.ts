import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-sluice';
import { CompletionsModule } from './completions/completions.module.js';
import { CustomerStore } from './customers/customer.store.js';
import { CustomersModule } from './customers/customers.module.js';
import { ExportsController } from './exports/exports.controller.js';
import { HealthController } from './health/health.controller.js';
import { LoginController } from './login/login.controller.js';
import { MessagesController } from './messages/messages.controller.js';
import { rateLimits } from './rate-limits.js';
import { ReportsController } from './reports/reports.controller.js';
import { SearchController } from './search/search.controller.js';
import { UsageController } from './usage/usage.controller.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

@Module({
  imports: [
    RateLimitModule.forRootAsync({
      imports: [CustomersModule],
      inject: [CustomerStore],
      useFactory: rateLimits,
    }),
    CompletionsModule,
    WebhooksModule,
  ],
  controllers: [
    ExportsController,
    HealthController,
    LoginController,
    MessagesController,
    ReportsController,
    SearchController,
    UsageController,
  ],
})
export class AppModule {}
