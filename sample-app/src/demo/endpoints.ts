import type { Checks } from './checks.js';
import { EXPECTATIONS, type Expectation } from './expectations.js';
import { awayFromMidnight } from './midnight.js';
import { printTable } from './table.js';
import { isRefusal, tiersOf, toldOf, type Reply, type Traffic } from './traffic.js';

/** Sends most endpoints more than they take; answers the replies by endpoint. */
export async function endpoints(traffic: Traffic, checks: Checks): Promise<Map<string, Reply[]>> {
  await awayFromMidnight();
  const seen = new Map<string, Reply[]>();
  const rows = [];
  for (const expectation of EXPECTATIONS) {
    const { endpoint, requests, together } = expectation;
    const replies = await (together ? traffic.together(requests) : traffic.inTurn(requests));
    check(expectation, replies, checks);
    rows.push(rowOf(expectation, replies));
    seen.set(endpoint, replies);
  }
  printTable(
    ['endpoint', 'policy', 'sent', 'admitted', 'refused', 'what the client was told'],
    rows,
  );
  return seen;
}

function check(expectation: Expectation, replies: readonly Reply[], checks: Checks): void {
  const { endpoint, admits, status, refusedBy, retryAtMost = 0, tiers } = expectation;
  const passed = replies.filter((reply) => reply.status === status);
  const refused = replies.filter(isRefusal);
  checks.equal(`${endpoint} answered ${status}`, passed.length, admits);
  checks.equal(`${endpoint} answered 429`, refused.length, replies.length - admits);

  for (const { retryAfter = 0, body } of refused) {
    const sentence = `${endpoint} Retry-After: ${retryAfter}, promised 1 to ${retryAtMost}`;
    checks.holds(sentence, retryAfter >= 1 && retryAfter <= retryAtMost);
    const violated = (body as { 'violated-policies'?: string[] })['violated-policies'];
    checks.equal(`${endpoint} refused by`, violated?.join(), refusedBy);
  }
  for (const reply of replies) {
    checks.equal(`${endpoint} tells of`, tiersOf(reply).join(), tiers.join());
  }
  const elapsedMs = elapsedInOrder(passed);
  for (const [turn, heldMs] of (expectation.heldMs ?? []).entries()) {
    checks.notBefore(`${endpoint} answered`, elapsedMs[turn] ?? 0, heldMs);
  }
}

function rowOf(expectation: Expectation, replies: readonly Reply[]): (string | number)[] {
  const { endpoint, policy, status, refusedBy, heldMs } = expectation;
  const passed = replies.filter((reply) => !isRefusal(reply));
  const refused = replies.filter(isRefusal);
  const last = refused.at(-1) ?? passed.at(-1)!;
  const rateLimit = refused.length === 0 ? last.rateLimit : toldOf(refusedBy ?? '', last);
  const elapsedMs = elapsedInOrder(passed).map(Math.floor);
  const told = [
    ...(last.retryAfter === undefined ? [] : [`Retry-After: ${last.retryAfter}`]),
    ...(rateLimit === undefined ? [] : [`RateLimit: ${rateLimit}`]),
    ...(heldMs === undefined ? [] : [`answered after ${elapsedMs.join(', ')} ms`]),
  ];
  return [
    endpoint,
    policy,
    replies.length,
    `${passed.length} x ${status}`,
    `${refused.length} x 429`,
    told.join('  '),
  ];
}

function elapsedInOrder(replies: readonly Reply[]): number[] {
  return replies.map(({ elapsedMs }) => elapsedMs).toSorted((a, b) => a - b);
}
