import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { PhaseRunner } from './phase-runner.js';

/**
 * Decides the `handler` tiers of a route: after every guard, so that what a route's own auth guard
 * put on the request is known. Registered together with `RateLimitGuard`; with
 * `registerGuard: false`, use both.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(private readonly runner: PhaseRunner) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.runner.run('handler', context);
    return next.handle();
  }
}
