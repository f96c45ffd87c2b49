import type { Decision } from '../../src/index.js';
import type { Charged } from './counted.js';

/** A call of cost 1, as its caller saw it. Times are milliseconds since the epoch, monotonic. */
export interface Call {
  readonly key: string;
  /** What the policy of the key admits in all; each instance's share is a part of it. */
  readonly limit: number;
  readonly onStoreFailure: 'local' | 'open';
  readonly askedAtMs: number;
  /** Absent: it never was. */
  settledAtMs?: number;
  /** Absent: it was rejected, which no call may be. */
  decision?: Pick<Decision, 'allowed' | 'source'>;
}

/** What is known besides the calls. */
export interface Circumstances {
  readonly timeoutMs: number;
  /** How late a timer may be on this machine. */
  readonly turnMs: number;
  readonly instances: number;
  /** How often Redis forgot everything. */
  readonly losses: number;
  /** Redis's clock less that of the calls, and how far that may be wrong. */
  readonly offsetMs: number;
  readonly toleranceMs: number;
  /** What Redis has counted in the end, by key. */
  readonly counted: ReadonlyMap<string, Charged>;
}

/** What has happened that never may, one line each. */
export function violations(calls: readonly Call[], known: Circumstances): string[] {
  const byKey = new Map<string, Call[]>();
  for (const call of calls) {
    const ofKey = byKey.get(call.key);
    if (ofKey === undefined) byKey.set(call.key, [call]);
    else ofKey.push(call);
  }
  return [
    ...calls.flatMap((call) => settling(call, known)),
    ...[...byKey].flatMap(([key, ofKey]) => counting(key, ofKey, known)),
  ];
}

function settling(call: Call, { timeoutMs, turnMs }: Circumstances): string[] {
  const { key, askedAtMs, settledAtMs, decision } = call;
  if (settledAtMs === undefined) return [`${key}: a call was never settled`];
  if (decision === undefined) return [`${key}: a call was rejected`];
  const tookMs = settledAtMs - askedAtMs;
  return tookMs <= timeoutMs + turnMs ? [] : [`${key}: a call took ${tookMs} ms`];
}

function counting(key: string, calls: readonly Call[], known: Circumstances): string[] {
  const { timeoutMs, instances, losses, offsetMs, toleranceMs } = known;
  const [{ limit }] = calls as [Call];
  const share = Math.max(1, Math.floor(limit / instances));
  const found: string[] = [];
  const isAdmitted = ({ decision }: Call): boolean => decision?.allowed === true;
  const isLocal = calls.every(({ onStoreFailure }) => onStoreFailure === 'local');

  const admitted = calls.filter(isAdmitted).length;
  const bound = limit + instances * share + losses * limit;
  if (isLocal && admitted > bound) found.push(`${key}: ${admitted} admitted, bound ${bound}`);

  const charged = known.counted.get(key)?.units ?? 0;
  // Whom Redis refused it did not charge.
  const most = calls.filter(({ decision }) => !isRefusedByRedis(decision)).length;
  if (charged > most) found.push(`${key}: ${charged} charged for ${most} calls`);

  const surely = calls.filter(
    (call) => isAdmitted(call) && call.decision?.source === 'redis',
  ).length;
  if (losses === 0 && charged < surely) {
    found.push(`${key}: ${charged} charged, but Redis admitted ${surely}`);
  }

  const last = known.counted.get(key)?.atMs;
  const deadline = Math.max(...calls.map(({ askedAtMs }) => askedAtMs)) + timeoutMs;
  // What is decided locally is rightly charged later, when it is handed back.
  if (!isLocal && last !== undefined && last - offsetMs > deadline + toleranceMs) {
    found.push(`${key}: charged ${last - offsetMs - deadline} ms after its deadline`);
  }
  return found;
}

function isRefusedByRedis(decision: Call['decision']): boolean {
  return (
    decision?.allowed === false &&
    (decision.source === 'redis' || decision.source === 'denied-cache')
  );
}
