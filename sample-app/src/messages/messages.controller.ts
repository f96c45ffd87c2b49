import { Controller, Post } from '@nestjs/common';
import { RateLimit } from 'nestjs-sluice';

@Controller('messages')
export class MessagesController {
  /**
   * Three tiers, decided together: the plan, and these two. What one of them refuses is charged to
   * none of them.
   */
  @Post()
  @RateLimit([
    { name: 'minute', policy: 'sliding-window-log:30/1m' },
    { name: 'day', policy: 'fixed-window:5/1d' },
  ])
  send() {
    return { sent: true };
  }
}
