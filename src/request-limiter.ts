import { Injectable } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { withDeadline } from './deadline.js';
import { overallRetryAfterMs } from './http/retry-after.js';
import type { Refusal } from './http/problem.js';
import { globalSubject, namedSubject, subjectOf, type Client } from './identity/client.js';
import { CounterKeys } from './identity/counter-keys.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import { RateLimitStore, type Charge, type Decision } from './stores/rate-limit.store.js';
import { closedDecision, openDecision } from './stores/uncounted-decision.js';
import { checkCost } from './stores/check-cost.js';
import type { RateLimitContext } from './tiers/rate-limit-context.js';
import type { Phase } from './tiers/tier-options.js';
import { resolve, type Tier } from './tiers/tier.js';
import type { DecidedTier, Visit } from './visit.js';

/** A request in a phase, as every transport can tell it. */
export interface Question {
  readonly visit: Visit;
  readonly phase: Phase;
  readonly tiers: readonly Tier[];
  readonly request: unknown;
  readonly execution?: ExecutionContext;
}

/** What is to become of the request. */
export interface Verdict {
  /** Absent when the request passes. */
  readonly refusal?: Refusal;
  /** Milliseconds that the caller is held before its handler runs. */
  readonly delayMs: number;
}

/** A tier that is to be charged, or whose resolver failed, which decides it already. */
type Prepared = { readonly tier: Tier } & (
  { readonly charge: Charge } | { readonly decision: Decision; readonly charge?: undefined }
);

const PASSES: Verdict = { delayMs: 0 };

/** Decides all tiers of a phase of a request with one call of the store. Knows no transport. */
@Injectable()
export class RequestLimiter {
  constructor(
    private readonly settings: RateLimitSettings,
    private readonly store: RateLimitStore,
    private readonly keys: CounterKeys,
    private readonly log: RateLimitLog,
  ) {}

  /** Counts once per phase of a visit, however often guards are reached. */
  async decide(question: Question): Promise<Verdict> {
    const { visit, phase, tiers } = question;
    if (tiers.length === 0 || visit.phases.has(phase)) return PASSES;
    visit.phases.add(phase);
    const prepared = (await Promise.all(tiers.map((tier) => this.prepare(tier, question)))).filter(
      (tier) => tier !== undefined,
    );
    if (prepared.length === 0) return PASSES;
    const decided = await this.charge(prepared);
    visit.decided.push(...decided);
    return this.verdict(decided, question);
  }

  /** Whether no tier counts this request: a fail-safe no, when the app's function fails. */
  async isSkipped(question: Question): Promise<boolean> {
    const { skip } = this.settings;
    if (skip === undefined) return false;
    try {
      return (await this.inTime(this.contextOf(question).then(skip), 'skip')) === true;
    } catch (error) {
      this.log.resolverFailed('skip', error);
      return false;
    }
  }

  private async prepare(tier: Tier, question: Question): Promise<Prepared | undefined> {
    try {
      const preparing = this.chargeOf(tier, question);
      const charge = await this.inTime(preparing, `tier '${tier.name}'`);
      return charge === undefined ? undefined : { tier, charge };
    } catch (error) {
      this.log.resolverFailed(`tier '${tier.name}'`, error);
      // Without its numbers a tier can count nothing, here no more than in the store.
      const policy = tier.policy ?? { name: tier.name, limit: 0 };
      const decision =
        tier.onStoreFailure === 'open' ? openDecision(policy) : closedDecision(policy);
      return { tier, decision };
    }
  }

  private async chargeOf(tier: Tier, question: Question): Promise<Charge | undefined> {
    const context = tier.isDynamic ? await this.contextOf(question) : undefined;
    if (context !== undefined && (await tier.skip?.(context)) === true) return undefined;
    const subject = await this.subjectOf(tier, question, context);
    if (subject === undefined) return undefined;
    const policy = tier.policy ?? (await tier.policyFor(context!));
    const cost = context === undefined ? (tier.cost as number) : await resolve(tier.cost, context);
    checkCost(cost);
    const { isShadow, onStoreFailure } = tier;
    const key = this.keys.key(tier.space(policy), subject);
    return { policy, key, cost, isShadow, onStoreFailure };
  }

  private async subjectOf(
    { by }: Tier,
    { visit }: Question,
    context: RateLimitContext | undefined,
  ): Promise<string | undefined> {
    if (typeof by === 'function') {
      const name = await by(context!);
      if (name === undefined) return undefined;
      if (typeof name === 'string') return namedSubject(name);
      throw new TypeError(`by answered ${typeof name}, expected a string or undefined`);
    }
    if (by === 'global') return globalSubject;
    const client = await this.clientBy(by, visit);
    return client ? subjectOf(client) : undefined;
  }

  private clientBy(
    by: 'client' | 'api-key' | 'user' | 'ip',
    { identity }: Visit,
  ): Client | null | undefined | Promise<Client | null | undefined> {
    switch (by) {
      case 'client':
        return identity.client();
      case 'api-key':
        return identity.apiKey();
      case 'user':
        return identity.user();
      case 'ip':
        return identity.ip();
    }
  }

  private async contextOf({
    visit,
    phase,
    request,
    execution,
  }: Question): Promise<RateLimitContext> {
    const client = phase === 'edge' ? visit.identity.ip() : await visit.identity.client();
    return execution === undefined ? { request, client } : { request, client, execution };
  }

  /** A tier that is closed already refuses the request, so the others are only looked at. */
  private async charge(prepared: readonly Prepared[]): Promise<DecidedTier[]> {
    const isClosed = prepared.some(
      ({ tier, charge, ...rest }) =>
        charge === undefined &&
        !tier.isShadow &&
        !(rest as { decision: Decision }).decision.allowed,
    );
    const charges = prepared.flatMap(({ charge }) => charge ?? []);
    const verb = isClosed ? 'peek' : 'consume';
    const decisions = charges.length === 0 ? [] : await this.store.decide({ verb, charges });
    let next = 0;
    return prepared.map((entry) => ({
      name: entry.tier.name,
      windowMs: entry.charge?.policy.windowMs ?? 0,
      cost: entry.charge?.cost ?? 0,
      isShadow: entry.tier.isShadow,
      decision: entry.charge === undefined ? entry.decision : decisions[next++]!,
    }));
  }

  private verdict(decided: readonly DecidedTier[], question: Question): Verdict {
    const refusing = decided.filter(({ decision }) => !decision.allowed);
    if (refusing.length === 0) {
      return { delayMs: Math.max(...decided.map(({ decision }) => decision.delayMs)) };
    }
    for (const tier of refusing) this.log.refused(tier, question.visit.identity.known);
    const violated = refusing.filter(({ isShadow }) => !isShadow);
    if (violated.length === 0) return PASSES;
    const isClosed = violated.every(({ decision }) => decision.source === 'closed');
    const retryAfterMs = overallRetryAfterMs(violated);
    return { refusal: { status: isClosed ? 503 : 429, violated, retryAfterMs }, delayMs: 0 };
  }

  private inTime<T>(promise: Promise<T>, what: string): Promise<T> {
    return withDeadline(promise, this.settings.resolverTimeoutMs, what);
  }
}
