import { definePolicy } from '../../src/policies/define-policy.js';
import type { Policy } from '../../src/policies/policy.js';
import type { Decision, Operation } from '../../src/stores/rate-limit.store.js';
import type { ModelDecision, ModelPolicy } from '../model/model.js';
import type { Step } from '../model/trace.js';

/** The model's policies as the engines take them. */
export function namedPolicies(policies: readonly ModelPolicy[]): Policy[] {
  return policies.map(({ algorithm, limit, windowMs, burst, maxDelayMs }) =>
    definePolicy(
      'tier',
      {
        algorithm,
        limit,
        window: windowMs,
        ...(['token-bucket', 'gcra', 'leaky-bucket'].includes(algorithm) && { burst }),
        ...(algorithm === 'leaky-bucket' && { maxDelay: maxDelayMs }),
      },
      'policy',
    ),
  );
}

export function decideStep(step: Step, policies: readonly Policy[], key: string): Operation {
  const cost = step.op === 'block' ? step.durationMs : step.cost;
  return { verb: step.op, charges: [{ policy: policies[step.policy]!, key, cost }] };
}

/** What the model says too, in its order. */
export function outcome({
  allowed,
  remaining,
  retryAfterMs,
  resetAfterMs,
  delayMs,
}: Decision): ModelDecision {
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs };
}

/** Quicker than an assertion, for millions of steps. */
export function sameOutcome(a: ModelDecision, b: ModelDecision): boolean {
  return (
    a.allowed === b.allowed &&
    a.remaining === b.remaining &&
    a.retryAfterMs === b.retryAfterMs &&
    a.resetAfterMs === b.resetAfterMs &&
    a.delayMs === b.delayMs
  );
}
