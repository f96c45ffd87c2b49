import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import { LimiterService, type NamedPolicy } from 'nestjs-sluice';
import { PartnerApi } from './partner.api.js';

/** The partner takes five calls a second from us, from all our processes together. */
const PARTNER_LIMIT: NamedPolicy = {
  name: 'partner',
  algorithm: 'gcra',
  limit: 5,
  window: '1s',
  burst: 1,
};
const MAX_WAIT_MS = 10_000;

/** Calls the partner no faster than agreed: whoever calls waits for a turn. */
@Injectable()
export class PartnerClient {
  constructor(
    private readonly limiter: LimiterService,
    private readonly partner: PartnerApi,
  ) {}

  async announce(orderId: string): Promise<void> {
    const turn = await this.limiter.acquire(PARTNER_LIMIT, 'orders', { maxWaitMs: MAX_WAIT_MS });
    if (!turn.allowed) throw new ServiceUnavailableException('The partner is too far behind');
    this.partner.receive(orderId);
  }
}
