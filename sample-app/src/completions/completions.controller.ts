import {
  Body,
  Controller,
  HttpCode,
  HttpException,
  HttpStatus,
  Post,
  Res,
  UnauthorizedException,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { RateLimitClient, type Client } from 'nestjs-sluice';
import { LanguageModel } from './language-model.js';
import { TokenBudget } from './token-budget.js';

@Controller('completions')
export class CompletionsController {
  constructor(
    private readonly model: LanguageModel,
    private readonly budget: TokenBudget,
  ) {}

  @Post()
  @HttpCode(200)
  async complete(
    @RateLimitClient() client: Client,
    @Res({ passthrough: true }) response: ServerResponse,
    @Body() { prompt = '' }: { prompt?: string } = {},
  ) {
    if (client.kind !== 'api-key') throw new UnauthorizedException();

    const { allowed, retryAfterMs } = await this.budget.check(client);
    if (!allowed) {
      response.setHeader('Retry-After', Math.ceil(retryAfterMs / 1_000));
      throw new HttpException('No tokens left', HttpStatus.TOO_MANY_REQUESTS);
    }

    const { text, tokens } = this.model.complete(prompt);
    const { remaining } = await this.budget.spend(client, tokens);
    return { text, tokens, tokensLeft: remaining };
  }
}
