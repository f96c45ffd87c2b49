import { Controller, Get, Query } from '@nestjs/common';
import { RateLimit } from 'nestjs-sluice';

/** Ten a minute, evenly: three at once, then one every six seconds. */
@Controller('search')
@RateLimit({ algorithm: 'gcra', limit: 10, window: '1m', burst: 3 })
export class SearchController {
  @Get()
  search(@Query('q') query = '') {
    return { query, results: [`Everything about ${query}`] };
  }

  /** Asked at every key that is hit. Replaces the class's tier for this route. */
  @Get('suggest')
  @RateLimit('sliding-window-counter:20/1m')
  suggest(@Query('q') query = '') {
    return [`${query} near me`, `${query} price`];
  }
}
