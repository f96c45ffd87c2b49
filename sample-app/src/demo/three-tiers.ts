import type { Checks } from './checks.js';
import { isRefusal, remainingOf, type Reply } from './traffic.js';

/**
 * What the third tier refused is charged to neither of the others. The edge decided before them and
 * counts refused requests, too.
 */
export function threeTiers(messages: readonly Reply[], checks: Checks): void {
  const before = messages.findLast((reply) => !isRefusal(reply));
  for (const refusal of messages.filter(isRefusal)) {
    for (const tier of ['plan', 'minute']) {
      const left = before === undefined ? Number.NaN : remainingOf(tier, before);
      checks.equal(`${tier} after a refusal by day`, remainingOf(tier, refusal), left);
    }
  }
  console.log('\nPOST /messages: three tiers; "day" refuses, "plan" and "minute" are not charged');
  for (const { status, rateLimit } of messages.slice(-3)) console.log(`  ${status}  ${rateLimit}`);
}
