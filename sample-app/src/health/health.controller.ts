import { Controller, Get } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-sluice';

@Controller('health')
export class HealthController {
  /**
   * No tier counts it but `edge`, which comes before routing and knows no decorators. The option
   * `exempt: { paths: ['/health'] }` takes a path out of that, too.
   */
  @Get()
  @SkipRateLimit()
  health() {
    return { status: 'ok' };
  }
}
