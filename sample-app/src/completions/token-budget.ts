import { Injectable } from '@nestjs/common';
import { LimiterService, type Client, type Decision, type NamedPolicy } from 'nestjs-sluice';

const TOKENS: NamedPolicy = {
  name: 'tokens',
  algorithm: 'token-bucket',
  limit: 1_000,
  window: '1h',
};

/** Language model tokens of a customer, of which a request uses an amount known afterwards. */
@Injectable()
export class TokenBudget {
  constructor(private readonly limiter: LimiterService) {}

  /** Allowed while a single token is left; charges nothing. */
  check(client: Client): Promise<Decision> {
    return this.limiter.peek(TOKENS, client);
  }

  /** Never refused. The last request may overdraw, and later ones wait until that is paid off. */
  spend(client: Client, tokens: number): Promise<Decision> {
    return this.limiter.charge(TOKENS, client, tokens);
  }
}
