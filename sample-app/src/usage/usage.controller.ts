import { Controller, Get } from '@nestjs/common';
import { RateLimitResult, type Decision } from 'nestjs-sluice';

@Controller('usage')
export class UsageController {
  /** What is left, as the tiers of this very request say. */
  @Get()
  usage(@RateLimitResult() decisions: readonly Decision[]) {
    return decisions.map(({ policy, limit, remaining, source }) => ({
      tier: policy,
      limit,
      remaining,
      source,
    }));
  }
}
