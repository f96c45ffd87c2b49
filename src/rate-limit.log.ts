import { createHmac } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import type { Client } from './identity/client.js';
import { RecentMap } from './recent-map.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import type { StoreStatus } from './stores/availability/store-health.js';
import type { DecidedTier } from './visit.js';

/** One line a minute for each subject: a flood of refusals must not become a flood of lines. */
const QUIET_MS = 60_000;
const REMEMBERED = 1_000;

/** Controls, bidirectional and other invisible marks, line ends; quotes, which would end an id. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}"]/gu;

/** What operators read. No key, no secret and, unless asked for, no user and no address is in it. */
@Injectable()
export class RateLimitLog {
  private readonly logger = new Logger('RateLimit');
  private readonly said = new RecentMap<string, number>(REMEMBERED);

  constructor(private readonly settings: RateLimitSettings) {}

  refused({ name, decision, isShadow, cost }: DecidedTier, client: Client): void {
    const who = this.describe(client);
    if (this.isQuiet(`refused ${name} ${who}`)) return;
    const verb = isShadow ? 'would refuse' : 'refused';
    const retry = Number.isFinite(decision.retryAfterMs)
      ? `passes in ${decision.retryAfterMs} ms`
      : 'never passes';
    this.logger.log(
      `${verb} ${who}: tier '${name}', limit ${decision.limit}, cost ${cost}, ${retry} (${decision.source})`,
    );
  }

  resolverFailed(what: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.isQuiet(`failed ${what}`)) return;
    this.logger.error(`${what} was not decided: ${printable(reason)}`);
  }

  /** The first failure for a minute, which may be the last or the beginning of an outage. */
  storeFailed({ kind, message }: NonNullable<StoreStatus['reason']>): void {
    if (this.isQuiet(`store ${kind}`)) return;
    this.logger.error(`the store failed, onStoreFailure holds: ${printable(message)} (${kind})`);
  }

  /** Once per transition. */
  storeChanged(status: StoreStatus, previous: StoreStatus): void {
    if (status.state === 'up') {
      this.logger.error(`the store is back after ${previous.forMs} ms`);
      return;
    }
    const what = status.state === 'down' ? 'the store is away' : 'parts of the store are away';
    this.logger.error(`${what}, onStoreFailure holds: ${reasonOf(status)}`);
  }

  /** Once a minute while there is something to say. */
  storeSummary(status: StoreStatus, charges: number): void {
    const { state, forMs, failedOver } = status;
    const what = state === 'up' ? 'the store fails now and then' : `the store is ${state}`;
    const since = state === 'up' ? '' : ` for ${Math.round(forMs / 1_000)} s`;
    const { local, open, closed } = failedOver;
    this.logger.error(
      `${what}${since}: ${charges} charges failed over in the last minute ` +
        `(since start: ${local} local, ${open} open, ${closed} closed): ${reasonOf(status)}`,
    );
  }

  handedBack(keys: number): void {
    this.logger.log(
      `what ${keys} keys were admitted while the store was away is charged there now`,
    );
  }

  private describe({ kind, id }: Client): string {
    const { logIdentity = false, secret = '' } = this.settings.identity;
    const isKnown = kind === 'api-key' && this.settings.identity.apiKey?.verify !== undefined;
    if (isKnown || logIdentity) return `${kind} "${printable(id)}"`;
    const digest = createHmac('sha256', secret).update(`${kind} ${id}`).digest('base64url');
    return `${kind} #${digest.slice(0, 10)}`;
  }

  private isQuiet(line: string): boolean {
    const now = this.settings.clock.now();
    const last = this.said.get(line);
    if (last !== undefined && now - last < QUIET_MS) return true;
    this.said.set(line, now);
    return false;
  }
}

function reasonOf({ reason }: StoreStatus): string {
  return reason === undefined ? 'no reason known' : `${printable(reason.message)} (${reason.kind})`;
}

/** On one line, with nothing in it that a terminal would obey: others wrote it. */
function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
