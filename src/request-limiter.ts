import { Injectable } from '@nestjs/common';
import { ChargeResolver } from './charge-resolver.js';
import type { Refusal } from './http/problem.js';
import { overallRetryAfterMs } from './http/retry-after.js';
import type { Question } from './question.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitStore, type Charge, type Decision } from './stores/rate-limit.store.js';
import { closedDecision, openDecision } from './stores/uncounted-decision.js';
import type { Tier } from './tiers/tier.js';
import type { DecidedTier } from './visit.js';

/** What is to become of the request. */
export interface Verdict {
  /** Absent when the request passes. */
  readonly refusal?: Refusal;
  /** Milliseconds that the caller is held before its handler runs. */
  readonly delayMs: number;
}

/** A tier with what it charges, or one that is decided already, because a resolver failed. */
type Prepared =
  | { readonly tier: Tier; readonly charge: Charge }
  | { readonly tier: Tier; readonly decision: Decision };

const PASSES: Verdict = { delayMs: 0 };

/** Decides all tiers of a phase of a request with one call of the store. Knows no transport. */
@Injectable()
export class RequestLimiter {
  constructor(
    private readonly store: RateLimitStore,
    private readonly resolver: ChargeResolver,
    private readonly log: RateLimitLog,
  ) {}

  /** Counts once per phase of a visit, however often guards are reached. */
  async decide(question: Question): Promise<Verdict> {
    const { visit, phase, tiers } = question;
    if (tiers.length === 0 || visit.phases.has(phase)) return PASSES;
    visit.phases.add(phase);
    const isSkipped = this.resolver.isRequestSkipped(question);
    if (isSkipped !== false && (await isSkipped)) return PASSES;
    const preparing = tiers.map((tier) => this.prepare(tier, question));
    const isAsking = preparing.some((tier) => tier instanceof Promise);
    const all = isAsking
      ? await Promise.all(preparing.map((tier) => Promise.resolve(tier)))
      : (preparing as (Prepared | undefined)[]);
    const prepared = all.filter((tier) => tier !== undefined);
    if (prepared.length === 0) return PASSES;
    const decided = await this.decideAll(prepared);
    visit.decided.push(...decided);
    return this.verdict(decided, question);
  }

  private prepare(
    tier: Tier,
    question: Question,
  ): Prepared | undefined | Promise<Prepared | undefined> {
    const charge = this.resolver.chargeOf(tier, question);
    if (charge instanceof Promise) return this.whenAsked(tier, charge);
    return charge === undefined ? undefined : { tier, charge };
  }

  private async whenAsked(
    tier: Tier,
    asking: Promise<Charge | undefined>,
  ): Promise<Prepared | undefined> {
    try {
      const charge = await asking;
      return charge === undefined ? undefined : { tier, charge };
    } catch (error) {
      this.log.resolverFailed(`tier '${tier.name}'`, error);
      // Without its numbers a tier can count nothing, here no more than in the store.
      const policy = tier.policy ?? { name: tier.name, limit: 0 };
      const decide = tier.onStoreFailure === 'open' ? openDecision : closedDecision;
      return { tier, decision: decide(policy) };
    }
  }

  /** A tier that is closed already refuses the request, so the others are only looked at. */
  private async decideAll(prepared: readonly Prepared[]): Promise<DecidedTier[]> {
    const isClosed = prepared.some(
      (entry) => 'decision' in entry && !entry.decision.allowed && !entry.tier.isShadow,
    );
    const charges = prepared.flatMap((entry) => ('charge' in entry ? entry.charge : []));
    const verb = isClosed ? 'peek' : 'consume';
    const decisions = charges.length === 0 ? [] : await this.store.decide({ verb, charges });
    let next = 0;
    return prepared.map((entry) => {
      const { name, isShadow } = entry.tier;
      if ('decision' in entry) {
        return { name, isShadow, windowMs: 0, cost: 0, decision: entry.decision };
      }
      const { policy, cost } = entry.charge;
      return { name, isShadow, windowMs: policy.windowMs, cost, decision: decisions[next++]! };
    });
  }

  private verdict(decided: readonly DecidedTier[], { visit }: Question): Verdict {
    const refusing = decided.filter(({ decision }) => !decision.allowed);
    for (const tier of refusing) this.log.refused(tier, visit.identity.known);
    const violated = refusing.filter(({ isShadow }) => !isShadow);
    if (violated.length === 0) {
      // A shadow tier holds nobody back either.
      const enforced = decided.filter(({ isShadow }) => !isShadow);
      return { delayMs: Math.max(0, ...enforced.map(({ decision }) => decision.delayMs)) };
    }
    const isClosed = violated.every(({ decision }) => decision.source === 'closed');
    const retryAfterMs = overallRetryAfterMs(violated);
    return { refusal: { status: isClosed ? 503 : 429, violated, retryAfterMs }, delayMs: 0 };
  }
}
