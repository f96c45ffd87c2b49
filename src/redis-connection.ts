import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { RateLimitSettings } from './rate-limit.settings.js';
import { connect, untilReady, type OwnedClient } from './stores/redis/connect.js';
import { isRedisClient, type ScriptRunner } from './stores/redis/script-runner.js';

/** The app boots without Redis when it does not answer in this time. */
const BOOT_WAIT_MS = 2_000;

/** The client that scripts run on: the app's own, or one that is opened and closed here. */
@Injectable()
export class RedisConnection implements OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  private owned?: OwnedClient;
  private lastError?: Error;

  constructor(private readonly settings: RateLimitSettings) {}

  /** Undefined when counters live in this process. Opens nothing that the app has opened. */
  async open(): Promise<unknown> {
    const { redis, enabled } = this.settings;
    if (redis === undefined || !enabled) return undefined;
    if (isRedisClient(redis)) return redis;
    const client = await connect(redis, 'redis');
    this.owned = client;
    // Without a listener ioredis prints each failed attempt itself.
    client.on('error', (error) => {
      this.lastError = error;
      this.logger.debug(`Redis: ${error.message}`);
    });
    if (!(await untilReady(client, BOOT_WAIT_MS))) {
      const reason = this.lastError === undefined ? '' : ` (${this.lastError.message})`;
      this.logger.error(
        `Redis did not answer within ${BOOT_WAIT_MS} ms${reason}; the app starts without it`,
      );
    }
    return client;
  }

  /** What is really wrong, where a client only says that it is not connected. */
  explaining(runner: ScriptRunner): ScriptRunner {
    if (this.owned === undefined) return runner;
    return {
      ...runner,
      run: (script, keys, args) =>
        runner.run(script, keys, args).catch((error: unknown) => {
          throw error instanceof Error ? this.explained(error) : error;
        }),
    };
  }

  private explained(error: Error): Error {
    const isUnconnected = /^(Stream isn't writeable|Cluster isn't ready)/.test(error.message);
    if (!isUnconnected) return error;
    return this.lastError ?? new Error('not connected to Redis', { cause: error });
  }

  /** The last hook: until then requests are still decided. */
  onApplicationShutdown(): void {
    this.owned?.disconnect();
  }
}
