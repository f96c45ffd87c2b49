import { Injectable } from '@nestjs/common';
import { andThen } from './and-then.js';
import { ChargeResolver } from './charge-resolver.js';
import type { Refusal } from './http/problem.js';
import { overallRetryAfterMs } from './http/retry-after.js';
import type { Question } from './question.js';
import { RateLimitEvents } from './rate-limit.events.js';
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

/** What a tier charges; nothing, where it does not apply; or a decision, as a resolver failed. */
type Prepared = Charge | undefined | Decision;

const PASSES: Verdict = { delayMs: 0 };

/** Decides all tiers of a phase of a request with one call of the store. Knows no transport. */
@Injectable()
export class RequestLimiter {
  constructor(
    private readonly store: RateLimitStore,
    private readonly resolver: ChargeResolver,
    private readonly log: RateLimitLog,
    private readonly events: RateLimitEvents,
  ) {}

  /**
   * Each tier counts a visit once, however often guards are reached. A promise only where somebody
   * has to be asked.
   */
  decide(asked: Question): Verdict | Promise<Verdict> {
    const tiers = asked.visit.count(asked.tiers);
    if (tiers.length === 0) return PASSES;
    const question = tiers === asked.tiers ? asked : { ...asked, tiers };
    return andThen(this.resolver.isRequestSkipped(question), (isSkipped) =>
      isSkipped ? PASSES : this.decideKnown(question),
    );
  }

  /**
   * Before the app is asked whose a key is, the tiers of its address are looked at: a request that
   * they refuse anyway costs no lookup, so guessing keys is limited. Nothing is charged by that.
   */
  private decideKnown(question: Question): Verdict | Promise<Verdict> {
    const { visit, tiers, phase } = question;
    if (phase === 'edge' || !visit.identity.isUnverified) return this.decideTiers(question);
    const ofAddress = tiers.filter(({ by, isDynamic }) => by === 'ip' && !isDynamic);
    if (ofAddress.length === 0) return this.decideTiers(question);
    return andThen(this.decideTiers({ ...question, tiers: ofAddress }, 'peek'), (verdict) =>
      verdict.refusal === undefined ? this.decideTiers(question) : verdict,
    );
  }

  private decideTiers(
    question: Question,
    verb: 'consume' | 'peek' = 'consume',
  ): Verdict | Promise<Verdict> {
    const prepared: Prepared[] = [];
    let asking: Promise<void>[] | undefined;
    for (const [index, tier] of question.tiers.entries()) {
      const charge = this.resolver.chargeOf(tier, question);
      if (charge instanceof Promise) {
        asking ??= [];
        asking.push(
          this.whenAsked(tier, charge).then((answer) => {
            prepared[index] = answer;
          }),
        );
      } else prepared[index] = charge;
    }
    if (asking === undefined) return this.charge(question, prepared, verb);
    return Promise.all(asking).then(() => this.charge(question, prepared, verb));
  }

  private async whenAsked(tier: Tier, asking: Promise<Charge | undefined>): Promise<Prepared> {
    try {
      return await asking;
    } catch (error) {
      this.log.resolverFailed(`tier '${tier.name}'`, error);
      // Without its numbers a tier can count nothing, here no more than in the store.
      const policy = tier.policy ?? { name: tier.name, limit: 0 };
      return tier.onStoreFailure === 'open' ? openDecision(policy) : closedDecision(policy);
    }
  }

  /** A tier that is closed already refuses the request, so the others are only looked at. */
  private charge(
    question: Question,
    prepared: readonly Prepared[],
    verb: 'consume' | 'peek',
  ): Verdict | Promise<Verdict> {
    const charges: Charge[] = [];
    let isClosed = false;
    for (const [index, answer] of prepared.entries()) {
      if (answer === undefined) continue;
      if (isCharge(answer)) charges.push(answer);
      else isClosed ||= !answer.allowed && !question.tiers[index]!.isShadow;
    }
    if (charges.length === 0) return this.conclude(question, prepared, [], verb);
    return this.store
      .decide({ verb: isClosed ? 'peek' : verb, charges })
      .then((decisions) => this.conclude(question, prepared, decisions, verb));
  }

  private conclude(
    question: Question,
    prepared: readonly Prepared[],
    decisions: readonly Decision[],
    verb: 'consume' | 'peek',
  ): Verdict {
    const { visit, tiers } = question;
    const decided: DecidedTier[] = [];
    let next = 0;
    for (let index = 0; index < prepared.length; index++) {
      const answer = prepared[index];
      if (answer === undefined) continue;
      const { name, isShadow } = tiers[index]!;
      if (isCharge(answer)) {
        const { policy, cost } = answer;
        const decision = decisions[next++]!;
        decided.push({ name, isShadow, windowMs: policy.windowMs, cost, decision });
      } else decided.push({ name, isShadow, windowMs: 0, cost: 0, decision: answer });
    }
    // Who was only looked at is decided with what is known next.
    if (verb === 'peek' && !decided.some(isRefusing)) return PASSES;
    visit.decided.push(...decided);
    return this.verdict(question, decided);
  }

  private verdict({ visit }: Question, decided: readonly DecidedTier[]): Verdict {
    const isHeard = this.events.listenerCount('decided') > 0;
    let violated: DecidedTier[] | undefined;
    let delayMs = 0;
    for (const tier of decided) {
      const { name, isShadow, cost, decision } = tier;
      if (isHeard) this.events.emit('decided', { tier: name, isShadow, cost, decision });
      if (!decision.allowed) this.log.refused(tier, visit.identity.known);
      // A shadow tier holds nobody back either.
      if (isShadow) continue;
      if (!decision.allowed) (violated ??= []).push(tier);
      else if (decision.delayMs > delayMs) ({ delayMs } = decision);
    }
    if (violated === undefined) return delayMs === 0 ? PASSES : { delayMs };
    const isClosed = violated.every(({ decision }) => decision.source === 'closed');
    const retryAfterMs = overallRetryAfterMs(violated);
    return { refusal: { status: isClosed ? 503 : 429, violated, retryAfterMs }, delayMs: 0 };
  }
}

function isCharge(prepared: Charge | Decision): prepared is Charge {
  return 'key' in prepared;
}

function isRefusing({ isShadow, decision }: DecidedTier): boolean {
  return !isShadow && !decision.allowed;
}
