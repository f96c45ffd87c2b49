import { CounterKeys } from '../../src/identity/counter-keys.js';
import { namedSubject } from '../../src/identity/client.js';
import { definePolicy } from '../../src/policies/define-policy.js';
import type { Policy, PolicyText } from '../../src/policies/policy.js';
import type { Charge } from '../../src/stores/rate-limit.store.js';
import { counterSpace } from '../../src/tiers/tier.js';

const keys = new CounterKeys('test', 'a secret of the tests');
let subjects = 0;

/** Ten of each algorithm pass at once, and an hour brings them back. */
export const TEN_AN_HOUR: readonly PolicyText[] = [
  'fixed-window:10/1h',
  'sliding-window-log:10/1h',
  'sliding-window-counter:10/1h',
  'token-bucket:10/1h',
  'gcra:10/1h,burst=10',
  'leaky-bucket:10/1h,burst=10,maxDelay=1h',
];

export function policyOf(text: PolicyText, name = 'tier'): Policy {
  return definePolicy(name, text, 'policy');
}

/** Whoever no other test counts. */
export function newSubject(): string {
  return `subject ${process.pid} ${subjects++}`;
}

/** The key under which the library counts a subject. */
export function keyOf(policy: Policy, subject: string): string {
  return keys.counter(counterSpace(policy, ''), namedSubject(subject)).key;
}

export function chargeOf(policy: Policy, subject: string, cost = 1): Charge {
  return { policy, key: keyOf(policy, subject), cost };
}
