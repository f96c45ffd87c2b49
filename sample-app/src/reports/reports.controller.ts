import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-sluice';

@Controller('reports')
export class ReportsController {
  /**
   * One a second. Up to three callers queue: they are held until their turn instead of refused,
   * and this method runs when it comes.
   */
  @Get('preview')
  @RateLimit({ algorithm: 'leaky-bucket', limit: 60, window: '1m', burst: 3, maxDelay: '5s' })
  preview() {
    return { pages: 1 };
  }
}
