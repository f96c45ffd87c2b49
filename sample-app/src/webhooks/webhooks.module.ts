import { Module } from '@nestjs/common';
import { PartnerApi } from './partner.api.js';
import { PartnerClient } from './partner.client.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({ controllers: [WebhooksController], providers: [PartnerApi, PartnerClient] })
export class WebhooksModule {}
