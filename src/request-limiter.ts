import { Injectable } from '@nestjs/common';
import { andThen } from './and-then.js';
import { ChargeResolver } from './charge-resolver.js';
import type { Refusal } from './http/problem.js';
import { overallRetryAfterMs } from './http/retry-after.js';
import type { Question } from './question.js';
import { RateLimitEvents } from './rate-limit.events.js';
import { RateLimitLog } from './rate-limit.log.js';
import {
  RateLimitStore,
  type Charge,
  type Decision,
  type DecisionSource,
  type Operation,
} from './stores/rate-limit.store.js';
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
/** Sources that have charged what they allowed. */
const COUNTED: ReadonlySet<DecisionSource> = new Set(['redis', 'memory']);

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

  /** Before the app is asked whose a key is, which may be dear, its address is charged. */
  private decideKnown(question: Question): Verdict | Promise<Verdict> {
    const { visit, tiers, phase } = question;
    const isKnown = phase === 'edge' || !visit.identity.isUnverified;
    return isKnown || !tiers.some(countsAddress)
      ? this.decideTiers(question)
      : this.decideAddressFirst(question);
  }

  /**
   * So no more keys are looked up than the address may guess, at the same time too. All or none
   * still: what the address was charged is given back when another tier refuses.
   */
  private async decideAddressFirst(question: Question): Promise<Verdict> {
    const ofAddress = { ...question, tiers: question.tiers.filter(countsAddress) };
    const others = { ...question, tiers: question.tiers.filter((tier) => !countsAddress(tier)) };
    const first = await this.decideTiers(ofAddress);
    if (first.refusal !== undefined) return first;
    const second = await this.decideTiers(others);
    if (second.refusal !== undefined) await this.giveBack(ofAddress);
    return { ...second, delayMs: Math.max(first.delayMs, second.delayMs) };
  }

  private async giveBack(question: Question): Promise<void> {
    const { decided } = question.visit;
    const charged: [place: number, charge: Charge][] = [];
    for (const tier of question.tiers) {
      const place = decided.findIndex(({ name }) => name === tier.name);
      const charge = this.resolver.chargeOf(tier, question);
      const { allowed, source } = decided[place]!.decision;
      // What stands in for Redis may not be what answers now.
      if (!allowed || !COUNTED.has(source) || !isSettled(charge)) continue;
      charged.push([place, charge]);
    }
    if (charged.length === 0) return;
    const charges = charged.map(([, charge]) => charge);
    const given = await this.store.decide({ verb: 'refund', charges });
    for (const [index, [place]] of charged.entries()) {
      const { remaining, resetAfterMs } = given[index]!;
      const tier = decided[place]!;
      decided[place] = { ...tier, decision: { ...tier.decision, remaining, resetAfterMs } };
    }
  }

  private decideTiers(question: Question): Verdict | Promise<Verdict> {
    const settled = this.resolver.settled(question);
    if (settled !== undefined) return this.ask(settled, question, settled.charges);
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
    if (asking === undefined) return this.charge(question, prepared);
    return Promise.all(asking).then(() => this.charge(question, prepared));
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
  private charge(question: Question, prepared: readonly Prepared[]): Verdict | Promise<Verdict> {
    const charges: Charge[] = [];
    let isClosed = false;
    for (const [index, answer] of prepared.entries()) {
      if (answer === undefined) continue;
      if (isCharge(answer)) charges.push(answer);
      else isClosed ||= !answer.allowed && !question.tiers[index]!.isShadow;
    }
    if (charges.length === 0) return this.conclude(question, prepared, []);
    return this.ask({ verb: isClosed ? 'peek' : 'consume', charges }, question, prepared);
  }

  private ask(
    operation: Operation,
    question: Question,
    prepared: readonly Prepared[],
  ): Promise<Verdict> {
    return this.store
      .decide(operation)
      .then((decisions) => this.conclude(question, prepared, decisions));
  }

  private conclude(
    question: Question,
    prepared: readonly Prepared[],
    decisions: readonly Decision[],
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
    visit.decided.push(...decided);
    return this.verdict(question, decided);
  }

  private verdict({ visit }: Question, decided: readonly DecidedTier[]): Verdict {
    const isHeard = this.events.listenerCount('decided') > 0;
    let violated: DecidedTier[] | undefined;
    let delayMs = 0;
    for (const tier of decided) {
      const { name, isShadow, cost, decision } = tier;
      if (isHeard) this.events.tell('decided', { tier: name, isShadow, cost, decision });
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

/** Whether it can be charged before anybody but the address is known. */
function countsAddress({ by, isDynamic }: Tier): boolean {
  return by === 'ip' && !isDynamic;
}

function isSettled(charge: Charge | undefined | Promise<Charge | undefined>): charge is Charge {
  return charge !== undefined && !(charge instanceof Promise);
}
