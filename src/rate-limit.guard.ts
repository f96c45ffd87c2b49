import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { PhaseRunner } from './phase-runner.js';

/**
 * Decides the `guard` tiers of a route, tells the client, holds back or refuses. `forRoot`
 * registers it for the whole app; with `registerGuard: false`, `@UseGuards(RateLimitGuard)` works.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly runner: PhaseRunner) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.runner.run('guard', context);
  }
}
