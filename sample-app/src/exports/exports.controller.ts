import { Controller, Post } from '@nestjs/common';
import { RateLimit } from 'nestjs-sluice';

/**
 * An export costs 5 of 20 units an hour, whatever its format: the scope gives both routes one
 * counter. Too expensive to go uncounted: while Redis is away the answer is 503.
 */
@Controller('exports')
@RateLimit({
  algorithm: 'token-bucket',
  limit: 20,
  window: '1h',
  cost: 5,
  scope: 'exports',
  onStoreFailure: 'closed',
})
export class ExportsController {
  @Post('csv')
  csv() {
    return { file: 'orders.csv' };
  }

  @Post('pdf')
  pdf() {
    return { file: 'orders.pdf' };
  }
}
