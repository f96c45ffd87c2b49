import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RATE_LIMIT_REDIS } from './rate-limit.tokens.js';

const MIN_SECRET_BYTES = 16;

/**
 * Warns, once, of keys in Redis that tell who is counted: there are few enough addresses and users
 * to try them all, so a hash protects them only as far as its secret is one.
 */
@Injectable()
export class SecretWatch implements OnApplicationBootstrap {
  private readonly logger = new Logger('RateLimit');

  constructor(
    private readonly settings: RateLimitSettings,
    @Inject(RATE_LIMIT_REDIS) private readonly redis: unknown,
  ) {}

  onApplicationBootstrap(): void {
    const { identity, enabled } = this.settings;
    const bytes = Buffer.byteLength(identity.secret ?? '');
    if (!enabled || this.redis === undefined || bytes >= MIN_SECRET_BYTES) return;
    this.logger.warn(
      identity.secret === undefined
        ? `identity.secret is missing: keys in Redis are hashed without a secret, so ${GUESSED}`
        : `identity.secret has ${bytes} bytes, few enough to try them all: then ${GUESSED}`,
    );
  }
}

const GUESSED =
  'whoever reads Redis can tell which addresses and users they stand for, by hashing guesses. ' +
  `Set a random one of ${MIN_SECRET_BYTES} bytes or more, the same in every process`;
