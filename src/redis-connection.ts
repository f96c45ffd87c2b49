import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { withDeadline } from './deadline.js';
import { RateLimitConfigurationError } from './policies/configuration-error.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { hasStatus, safeDuplicate, unsafeSettingsOf } from './stores/redis/borrowed-client.js';
import { connect, untilReady, type OwnedClient } from './stores/redis/connect.js';
import { evictionWarning } from './stores/redis/eviction-check.js';
import { DECIDE_SCRIPT } from './stores/redis/script.generated.js';
import { isRedisClient, scriptRunnerFor, type ScriptRunner } from './stores/redis/script-runner.js';
import { withoutArguments } from './stores/redis/store-error.js';

/** No deadline, no shapes, no runs: the script tells the time. */
const NOTHING_ASKED = ['', '0', '0'];
/** How long the app waits for Redis while it boots. */
const BOOT_WAIT_MS = 2_000;

/** The client that scripts run on: the app's own, or one that is opened and closed here. */
@Injectable()
export class RedisConnection implements OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  private owned?: OwnedClient;
  private lastError?: Error;
  private readonly looking: (() => void)[] = [];

  constructor(private readonly settings: RateLimitSettings) {}

  /**
   * Undefined when counters live in this process. A client of the app's stays as it is: where its
   * settings could charge twice or late, a connection like it is opened beside it.
   */
  async open(): Promise<unknown> {
    const { redis, enabled, timeoutMs, requireRedisAtBoot } = this.settings;
    if (redis === undefined || !enabled) return undefined;
    const borrowed = isRedisClient(redis) ? this.borrow(redis as object) : undefined;
    if (borrowed !== undefined) {
      if (requireRedisAtBoot && !(await this.answers(borrowed))) this.refuse();
      void this.warnOfEviction(borrowed);
      return borrowed;
    }
    const client = this.owned ?? (await connect(redis, 'redis', timeoutMs));
    await this.boot(client);
    return client;
  }

  /** Calls back at each new connection of our own. */
  onReady(look: () => void): void {
    this.looking.push(look);
  }

  /** Says what is really wrong, where a client only says that it is not connected. */
  explaining(runner: ScriptRunner): ScriptRunner {
    if (this.owned === undefined) return runner;
    return {
      isCluster: runner.isCluster === true,
      run: (script, keys, args) =>
        runner.run(script, keys, args).catch((error: unknown) => {
          throw error instanceof Error ? this.explained(error) : error;
        }),
    };
  }

  private explained(error: Error): Error {
    // Of an option that is ours and says nothing to anybody.
    if (error.message.startsWith('Reached the max retries per request limit')) {
      return new Error('the connection was lost while a call was under way');
    }
    const isUnconnected = /^(Stream isn't writeable|Cluster isn't ready)/.test(error.message);
    if (!isUnconnected) return error;
    const cause = withoutArguments(this.lastError ?? error);
    const reason = this.lastError === undefined ? '' : `: ${cause.message}`;
    return new Error(`not connected to Redis${reason}`, { cause });
  }

  /** The last hook: until then requests are still decided. */
  onApplicationShutdown(): void {
    this.owned?.disconnect();
  }

  /** The app's client, or nothing when another was opened in its place. */
  private borrow(client: object): object | undefined {
    const unsafe = unsafeSettingsOf(client).join(', ');
    if (unsafe === '') return client;
    const { reuseConnection, timeoutMs } = this.settings;
    this.owned = reuseConnection ? undefined : safeDuplicate(client, timeoutMs);
    if (this.owned === undefined) {
      this.logger.warn(`the client of 'redis' may charge twice or late; give it ${unsafe}`);
      return client;
    }
    this.logger.log(`opens a connection like the client of 'redis', with ${unsafe}`);
    return undefined;
  }

  private async boot(client: OwnedClient): Promise<void> {
    this.owned = client;
    // Without a listener ioredis prints each failed attempt itself.
    client.on('error', (error) => {
      this.lastError = error;
      this.logger.debug(`Redis: ${error.message}`);
    });
    client.on('ready', () => {
      for (const look of this.looking) look();
      this.lastError = undefined;
    });
    client.once('ready', () => void this.warnOfEviction(client));
    this.warnOfTrust(client);
    if (await untilReady(client, BOOT_WAIT_MS)) return;
    if (this.settings.requireRedisAtBoot) {
      client.disconnect();
      this.refuse();
    }
    this.logger.error(`Redis ${this.absence()}; the app starts without it`);
  }

  private async answers(client: object): Promise<boolean> {
    if (hasStatus(client) && !(await untilReady(client, BOOT_WAIT_MS))) return false;
    try {
      const asked = scriptRunnerFor(client, 'redis').run(DECIDE_SCRIPT, [], NOTHING_ASKED);
      await withDeadline(asked, BOOT_WAIT_MS, 'Redis');
      return true;
    } catch (error) {
      this.lastError ??= withoutArguments(error);
      return false;
    }
  }

  private refuse(): never {
    const problem = `${this.absence()}, and requireRedisAtBoot is true`;
    throw new RateLimitConfigurationError('redis', problem);
  }

  private absence(): string {
    const reason = this.lastError === undefined ? '' : ` (${this.lastError.message})`;
    return `did not answer within ${BOOT_WAIT_MS} ms${reason}`;
  }

  private async warnOfEviction(client: unknown): Promise<void> {
    const warning = await evictionWarning(client);
    if (warning !== undefined) this.logger.warn(warning);
  }

  private warnOfTrust(client: OwnedClient): void {
    const options = client.options as TlsOptions & { readonly redisOptions?: TlsOptions };
    const { tls } = options.redisOptions ?? options;
    if (tls?.rejectUnauthorized !== false) return;
    this.logger.warn('redis: tls.rejectUnauthorized is false, so anybody may pass for Redis');
  }
}

interface TlsOptions {
  readonly tls?: { readonly rejectUnauthorized?: boolean };
}
