import { createHmac } from 'node:crypto';
import { types } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import type { Client } from './identity/client.js';
import { RecentMap } from './recent-map.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import type { StoreFailure, StoreStatus } from './stores/availability/store-health.js';
import type { Decision } from './stores/rate-limit.store.js';
import { STORE_ERRORS } from './stores/redis/store-error.js';
import type { DecidedTier } from './visit.js';

/** One line a minute for each subject: a flood of refusals must not become a flood of lines. */
const QUIET_MS = 60_000;
const REMEMBERED = 1_000;

/** Controls, bidirectional and other invisible marks, line ends; quotes, which would end an id. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}"]/gu;

/** What the last minute brought. */
export interface StoreMinute {
  /** Charges that a failure policy decided. */
  readonly failedOver: number;
  /** Transitions, told or not. */
  readonly changes: number;
  readonly lastFailure: StoreFailure | undefined;
}

/** What operators read. No key, no secret and, unless asked for, no user and no address is in it. */
@Injectable()
export class RateLimitLog {
  private readonly logger = new Logger('RateLimit');
  private readonly said = new RecentMap<string, number>(REMEMBERED);

  constructor(private readonly settings: RateLimitSettings) {}

  refused({ name, decision, isShadow, cost }: DecidedTier, client: Client): void {
    const who = this.describe(client);
    const verb = isShadow ? 'would refuse' : 'refused';
    if (this.isQuiet(`${verb} ${name} ${who}`)) return;
    this.logger.log(`${verb} ${who}: tier '${name}', ${reason(decision, cost)}`);
  }

  resolverFailed(what: string, error: unknown): void {
    if (this.isQuiet(`failed ${what}`)) return;
    this.logger.error(`${what} was not decided: ${printable(messageOf(error))}`);
  }

  listenerFailed(event: string, error: unknown): void {
    if (this.isQuiet(`listener ${event}`)) return;
    this.logger.error(`a listener of '${event}' threw: ${printable(messageOf(error))}`);
  }

  /** The first failure for a minute, which may be the last or the beginning of an outage. */
  storeFailed({ kind, message }: StoreFailure): void {
    if (this.isQuiet(`store ${kind}`)) return;
    const line = `the store failed, onStoreFailure holds: ${printable(message)} (${kind})`;
    this.logger[STORE_ERRORS[kind].logLevel](line);
  }

  /** Once per transition. `isLast`: of those that are told in this minute. */
  storeChanged(status: StoreStatus, previous: StoreStatus, isLast: boolean): void {
    const rest = isLast ? '; it comes and goes: the next summary tells how often' : '';
    this.logger.error(`${transition(status, previous)}${rest}`);
  }

  /** Once a minute while there is something to say. */
  storeSummary(status: StoreStatus, lastMinute: StoreMinute): void {
    const { state, forMs } = status;
    const { failedOver, changes, lastFailure } = lastMinute;
    const what = state === 'up' ? 'the store fails now and then' : `the store is ${state}`;
    const since = state === 'up' ? '' : ` for ${Math.round(forMs / 1_000)} s`;
    const changed = changes > 1 ? `${changes} changes, ` : '';
    const { local, open, closed } = status.failedOver;
    this.logger.error(
      `${what}${since}: ${changed}${failedOver} charges failed over in the last minute ` +
        `(since start: ${local} local, ${open} open, ${closed} closed): ${said(lastFailure)}`,
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

function transition(status: StoreStatus, previous: StoreStatus): string {
  if (status.state === 'up') return `the store is back after ${previous.forMs} ms`;
  const holds = `onStoreFailure holds: ${said(status.reason)}`;
  if (status.state === 'down') return `the store is away, ${holds}`;
  return previous.state === 'down'
    ? `parts of the store are back after ${previous.forMs} ms, for others ${holds}`
    : `parts of the store are away, ${holds}`;
}

function said(failure: StoreFailure | undefined): string {
  return failure === undefined
    ? 'no reason known'
    : `${printable(failure.message)} (${failure.kind})`;
}

/** Anything can be thrown, and not everything can be made a string. */
function messageOf(error: unknown): string {
  if (error instanceof Error || types.isNativeError(error)) return error.message;
  return typeof error === 'string' ? error : typeof error;
}

/** On one line, with nothing in it that a terminal would obey: others wrote it. */
function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

function reason({ limit, retryAfterMs, source }: Decision, cost: number): string {
  if (source === 'closed') return 'which nobody can count now (closed)';
  const retry = Number.isFinite(retryAfterMs) ? `passes in ${retryAfterMs} ms` : 'never passes';
  return `limit ${limit}, cost ${cost}, ${retry} (${source})`;
}
