import { Injectable } from '@nestjs/common';
import { andThen } from './and-then.js';
import { inTime } from './deadline.js';
import { asPromise } from './identity/as-promise.js';
import { globalSubject, namedSubject, type Client } from './identity/client.js';
import { CounterKeys } from './identity/counter-keys.js';
import { printed } from './policies/configuration-error.js';
import type { Policy } from './policies/policy.js';
import { RateLimitLog } from './rate-limit.log.js';
import { RateLimitSettings } from './rate-limit.settings.js';
import type { Question } from './question.js';
import { SettledOperations } from './settled-operations.js';
import { checkCost } from './stores/check-cost.js';
import type { Charge, Operation } from './stores/rate-limit.store.js';
import type { RateLimitContext, Resolvable } from './tiers/rate-limit-context.js';
import type { Tier } from './tiers/tier.js';

/**
 * What a tier charges for a request: asks the app's resolvers, each within its deadline. A tier
 * that depends on nothing asks nobody.
 */
@Injectable()
export class ChargeResolver {
  private readonly operations = new SettledOperations();

  constructor(
    private readonly settings: RateLimitSettings,
    private readonly keys: CounterKeys,
    private readonly log: RateLimitLog,
  ) {}

  /**
   * What all tiers of a question consume, where they depend on nothing but who asks, count the same
   * client, and that is known at once: the same every time.
   */
  settled({ tiers, asker }: Question): Operation | undefined {
    const by = tiers[0]?.by;
    if (by === undefined || by === 'global' || typeof by === 'function') return undefined;
    for (const tier of tiers) if (tier.isDynamic || tier.by !== by) return undefined;
    const client = asker.by(by);
    if (client === undefined || client instanceof Promise) return undefined;
    return this.operations.of(tiers, client, () => ({
      verb: 'consume',
      charges: tiers.map((tier) => this.charge(tier, tier.policy!, client, tier.cost as number)),
      memo: { found: undefined },
    }));
  }

  /**
   * Undefined when the tier does not apply. Rejects when its numbers cannot be had. A promise only
   * where somebody has to be asked.
   */
  chargeOf(tier: Tier, question: Question): Charge | undefined | Promise<Charge | undefined> {
    try {
      if (!tier.isDynamic) return this.chargeIn(tier, question, undefined);
      return andThen(this.contextOf(tier, question), (context) =>
        andThen(this.isSkipped(tier, context), (isSkipped) =>
          isSkipped ? undefined : this.chargeIn(tier, question, context),
        ),
      );
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** `context` is there where the tier has a function that may want it. */
  private chargeIn(
    tier: Tier,
    question: Question,
    context: RateLimitContext | undefined,
  ): Charge | undefined | Promise<Charge | undefined> {
    const { policy, cost } = tier;
    const subject = this.subjectOf(tier, question, context);
    if (subject === undefined) return undefined;
    // What most tiers of most requests are, without a function made for each.
    if (!(subject instanceof Promise) && policy !== undefined && typeof cost === 'number') {
      return this.charge(tier, policy, subject, cost);
    }
    return andThen(subject, (known) => {
      if (known === undefined) return undefined;
      return andThen(this.policyOf(tier, context), (numbers) =>
        andThen(this.ask(cost, context, `the cost of '${tier.name}'`), (units) =>
          this.charge(tier, numbers, known, units),
        ),
      );
    });
  }

  private charge(tier: Tier, policy: Policy, subject: string | Client, cost: number): Charge {
    checkCost(cost);
    const { isShadow, onStoreFailure } = tier;
    const space = tier.space(policy);
    const { key, shared } =
      typeof subject === 'string'
        ? this.keys.counter(space, subject)
        : this.keys.counterOf(space, subject);
    return { policy, key, shared, cost, isShadow, onStoreFailure };
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
      const client = await question.asker.client();
      const answer: unknown = await this.ask(skip, contextFor(question, client), 'skip');
      return answer === true;
    } catch (error) {
      this.log.resolverFailed('skip', error);
      return false;
    }
  }

  private isSkipped({ skip, name }: Tier, context: RateLimitContext): boolean | Promise<boolean> {
    if (skip === undefined) return false;
    return andThen<unknown, boolean>(this.ask(skip, context, `skip of '${name}'`), (answer) => {
      if (typeof answer === 'boolean') return answer;
      throw new TypeError(`skip answered ${typeof answer}, expected true or false`);
    });
  }

  private contextOf(tier: Tier, question: Question): RateLimitContext | Promise<RateLimitContext> {
    const client = question.asker.client();
    if (!(client instanceof Promise)) return contextFor(question, client);
    return client
      .catch((error: unknown) => this.addressInstead(tier, question, error))
      .then((known) => contextFor(question, known));
  }

  private subjectOf(
    tier: Tier,
    question: Question,
    context: RateLimitContext | undefined,
  ): string | Client | undefined | Promise<string | Client | undefined> {
    const { by } = tier;
    if (by === 'global') return globalSubject;
    try {
      const who = typeof by === 'function' ? this.named(by, context!) : question.asker.by(by);
      if (!(who instanceof Promise)) return subjectFor(who);
      return who.then<string | Client | undefined, string | Client | undefined>(
        subjectFor,
        (error: unknown) => subjectFor(this.addressInstead(tier, question, error)),
      );
    } catch (error) {
      return subjectFor(this.addressInstead(tier, question, error));
    }
  }

  private policyOf(tier: Tier, context: RateLimitContext | undefined): Policy | Promise<Policy> {
    if (tier.policy !== undefined) return tier.policy;
    const policy = tier.policyFor(context!);
    return this.inTime(policy, `the policy of '${tier.name}'`);
  }

  /** Who cannot be told is counted under the address, where the tier limits with what it has. */
  private addressInstead(
    { name, onStoreFailure }: Tier,
    { visit }: Question,
    error: unknown,
  ): Client {
    if (onStoreFailure !== 'local') throw error;
    this.log.resolverFailed(`the client of '${name}'`, error);
    return visit.identity.ip();
  }

  private named(
    by: (context: RateLimitContext) => string | undefined | Promise<string | undefined>,
    context: RateLimitContext,
  ): string | undefined | Promise<string | undefined> {
    return andThen<unknown, string | undefined>(this.ask(by, context, 'by'), (name) => {
      if (name === undefined || (typeof name === 'string' && name !== '')) return name;
      throw new TypeError(`by answered ${printed(name)}, expected a non-empty string or undefined`);
    });
  }

  private ask<T extends string | number | boolean | undefined>(
    value: Resolvable<T>,
    context: RateLimitContext | undefined,
    what: string,
  ): T | Promise<T> {
    if (typeof value !== 'function') return value;
    const answer = value(context!);
    return this.inTime(asPromise(answer) ?? answer, what);
  }

  private inTime<T>(answer: T | Promise<T>, what: string): T | Promise<T> {
    return inTime(answer, this.settings.resolverTimeoutMs, what);
  }
}

function contextFor({ request, execution }: Question, client: Client): RateLimitContext {
  return execution === undefined ? { request, client } : { request, client, execution };
}

function subjectFor(who: string | Client | undefined): string | Client | undefined {
  return typeof who === 'string' ? namedSubject(who) : who;
}
