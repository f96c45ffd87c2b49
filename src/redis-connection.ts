import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { RateLimitSettings } from './rate-limit.settings.js';
import { connect, untilReady, type OwnedClient } from './stores/redis/connect.js';
import { isRedisClient } from './stores/redis/script-runner.js';

/** The app boots without Redis when it does not answer in this time. */
const BOOT_WAIT_MS = 2_000;

/** The client that scripts run on: the app's own, or one that is opened and closed here. */
export class RedisConnection implements OnApplicationShutdown {
  private constructor(
    /** Undefined when counters live in this process. */
    readonly client: unknown,
    private readonly owned?: OwnedClient,
  ) {}

  static async open({ redis, enabled }: RateLimitSettings): Promise<RedisConnection> {
    if (redis === undefined || redis === null || !enabled) return new RedisConnection(undefined);
    if (isRedisClient(redis)) return new RedisConnection(redis);
    const client = await connect(redis, 'redis');
    const logger = new Logger('RateLimit');
    // Without a listener ioredis prints each failed attempt itself.
    client.on('error', ({ message }) => logger.debug(`Redis: ${message}`));
    if (!(await untilReady(client, BOOT_WAIT_MS))) {
      logger.error(`Redis did not answer within ${BOOT_WAIT_MS} ms; the app starts without it`);
    }
    return new RedisConnection(client, client);
  }

  /** The last hook: until then requests are still decided. */
  onApplicationShutdown(): void {
    this.owned?.disconnect();
  }
}
