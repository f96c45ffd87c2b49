import { BadRequestException, Body, Controller, HttpCode, Post } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-sluice';
import { PartnerClient } from './partner.client.js';

interface OrdersShipped {
  readonly orderIds: readonly string[];
}

@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly partner: PartnerClient) {}

  /** What comes in all at once goes out to the partner at the partner's pace. */
  @Post('orders-shipped')
  @HttpCode(200)
  @SkipRateLimit('plan')
  async ordersShipped(@Body() { orderIds }: Partial<OrdersShipped> = {}) {
    if (!Array.isArray(orderIds)) throw new BadRequestException('expected { orderIds: […] }');
    await Promise.all(orderIds.map((orderId) => this.partner.announce(String(orderId))));
    return { announced: orderIds.length };
  }
}
