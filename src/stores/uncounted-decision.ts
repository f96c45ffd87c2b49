import type { Policy } from '../policies/policy.js';
import { RateLimitStore, type Decision, type Operation } from './rate-limit.store.js';

type Uncounted = Pick<Policy, 'name' | 'limit'>;

/** When to try again after a 503: nobody knows, so soon. */
const CLOSED_RETRY_MS = 1_000;

/** Admitted without counting. Its numbers say nothing, and no header is made of them. */
export function openDecision(policy: Uncounted): Decision {
  return uncounted(policy, 'open', true, 0);
}

/** Refused without counting, because whoever would count is away. */
export function closedDecision(policy: Uncounted): Decision {
  return uncounted(policy, 'closed', false, CLOSED_RETRY_MS);
}

function uncounted(
  policy: Uncounted,
  source: 'open' | 'closed',
  allowed: boolean,
  retryAfterMs: number,
): Decision {
  return {
    policy: policy.name,
    allowed,
    limit: policy.limit,
    remaining: 0,
    retryAfterMs,
    resetAfterMs: 0,
    delayMs: 0,
    source,
  };
}

/** Admits everything and counts nothing: the store of a module that is not enabled. */
export class OpenStore extends RateLimitStore {
  override decide({ charges }: Operation): Promise<readonly Decision[]> {
    return Promise.resolve(charges.map(({ policy }) => openDecision(policy)));
  }
}
