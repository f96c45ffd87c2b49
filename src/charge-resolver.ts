import { Injectable } from '@nestjs/common';
import { withDeadline } from './deadline.js';
import { globalSubject, namedSubject, subjectOf, type Client } from './identity/client.js';
import { CounterKeys } from './identity/counter-keys.js';
import { printed } from './policies/configuration-error.js';
import type { Policy } from './policies/policy.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import type { Question } from './question.js';
import { checkCost } from './stores/check-cost.js';
import type { Charge } from './stores/rate-limit.store.js';
import type { RateLimitContext, Resolvable } from './tiers/rate-limit-context.js';
import type { Tier } from './tiers/tier.js';

/**
 * What a tier charges for a request: asks the app's resolvers, each within its deadline. A tier
 * that depends on nothing asks nobody.
 */
@Injectable()
export class ChargeResolver {
  constructor(
    private readonly settings: RateLimitSettings,
    private readonly keys: CounterKeys,
    private readonly log: RateLimitLog,
  ) {}

  /**
   * Undefined when the tier does not apply. Rejects when its numbers cannot be had. A promise only
   * where somebody has to be asked: most tiers of most requests depend on an address alone.
   */
  chargeOf(tier: Tier, question: Question): Charge | undefined | Promise<Charge | undefined> {
    const { by, policy, cost, isDynamic } = tier;
    const isAddress = by === 'ip' || (by === 'client' && this.settings.identities.length === 0);
    if (isDynamic || policy === undefined || !(isAddress || by === 'global')) {
      return this.askedFor(tier, question);
    }
    const subject = isAddress ? subjectOf(question.visit.identity.ip()) : globalSubject;
    return this.charge(tier, policy, subject, cost as number);
  }

  private charge(tier: Tier, policy: Policy, subject: string, cost: number): Charge {
    const { isShadow, onStoreFailure } = tier;
    const key = this.keys.key(tier.space(policy), subject);
    return { policy, key, cost, isShadow, onStoreFailure };
  }

  private async askedFor(tier: Tier, question: Question): Promise<Charge | undefined> {
    const context = tier.isDynamic ? await this.contextOf(tier, question) : undefined;
    if (context !== undefined && (await this.isSkipped(tier, context))) return undefined;
    const subject = await this.subjectOf(tier, question, context);
    if (subject === undefined) return undefined;
    const policy =
      tier.policy ?? (await this.inTime(tier.policyFor(context!), `the policy of '${tier.name}'`));
    const cost = await this.ask(tier.cost, context, `the cost of '${tier.name}'`);
    checkCost(cost);
    return this.charge(tier, policy, subject, cost);
  }

  /** Whether the module's own `skip` lets a request pass uncounted; a failing one does not. */
  isRequestSkipped(question: Question): boolean | Promise<boolean> {
    const { skip } = this.settings;
    return skip === undefined ? false : this.isSkippedBy(skip, question);
  }

  private async isSkippedBy(
    skip: NonNullable<RateLimitSettings['skip']>,
    question: Question,
  ): Promise<boolean> {
    try {
      const client = await this.clientOf(question);
      const answer: unknown = await this.ask(skip, contextFor(question, client), 'skip');
      return answer === true;
    } catch (error) {
      this.log.resolverFailed('skip', error);
      return false;
    }
  }

  private async isSkipped({ skip, name }: Tier, context: RateLimitContext): Promise<boolean> {
    if (skip === undefined) return false;
    const answer: unknown = await this.ask(skip, context, `skip of '${name}'`);
    if (typeof answer === 'boolean') return answer;
    throw new TypeError(`skip answered ${typeof answer}, expected true or false`);
  }

  private async contextOf(tier: Tier, question: Question): Promise<RateLimitContext> {
    const client = await this.orAddress(tier, question, () => this.clientOf(question));
    return contextFor(question, client);
  }

  private async subjectOf(
    tier: Tier,
    question: Question,
    context: RateLimitContext | undefined,
  ): Promise<string | undefined> {
    const { by } = tier;
    if (by === 'global') return globalSubject;
    const who = await this.orAddress<string | Client | null | undefined>(tier, question, () =>
      typeof by === 'function' ? this.named(by, context!) : this.clientBy(by, question),
    );
    if (typeof who === 'string') return namedSubject(who);
    return who ? subjectOf(who) : undefined;
  }

  /** Who cannot be told is counted under the address, where the tier limits with what it has. */
  private async orAddress<T>(
    { name, onStoreFailure }: Tier,
    { visit }: Question,
    who: () => T | Promise<T>,
  ): Promise<T | Client> {
    try {
      return await who();
    } catch (error) {
      if (onStoreFailure !== 'local') throw error;
      this.log.resolverFailed(`the client of '${name}'`, error);
      return visit.identity.ip();
    }
  }

  private async named(
    by: (context: RateLimitContext) => string | undefined | Promise<string | undefined>,
    context: RateLimitContext,
  ): Promise<string | undefined> {
    const name: unknown = await this.ask(by, context, 'by');
    if (name === undefined || (typeof name === 'string' && name !== '')) return name;
    throw new TypeError(`by answered ${printed(name)}, expected a non-empty string or undefined`);
  }

  private clientBy(
    by: 'client' | 'api-key' | 'user' | 'ip',
    question: Question,
  ): Client | null | undefined | Promise<Client | null | undefined> {
    const { identity } = question.visit;
    switch (by) {
      case 'client':
        return this.clientOf(question);
      case 'api-key':
        return this.inTime(identity.apiKey(), 'verify');
      case 'user':
        return this.inTime(identity.user(), 'identity.user');
      case 'ip':
        return identity.ip();
    }
  }

  /** Before guards nobody but an address can be known. */
  private clientOf({ visit, phase }: Question): Client | Promise<Client> {
    const { identity } = visit;
    if (phase === 'edge' || this.settings.identities.length === 0) return identity.ip();
    return this.inTime(identity.client(), 'the identity of the client');
  }

  private ask<T extends string | number | boolean | undefined>(
    value: Resolvable<T>,
    context: RateLimitContext | undefined,
    what: string,
  ): T | Promise<T> {
    if (typeof value !== 'function') return value;
    const answer = value(context!);
    return answer instanceof Promise ? this.inTime(answer, what) : answer;
  }

  private inTime<T>(promise: Promise<T>, what: string): Promise<T> {
    return withDeadline(promise, this.settings.resolverTimeoutMs, what);
  }
}

function contextFor({ request, execution }: Question, client: Client): RateLimitContext {
  return execution === undefined ? { request, client } : { request, client, execution };
}
