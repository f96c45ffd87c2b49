import type { Redis } from 'ioredis';

/** Scripts that Redis has begun since it started. */
export async function scriptsRun(admin: Redis): Promise<number> {
  const stats = await admin.info('commandstats');
  return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

/** When a token bucket was last charged (ms of Redis's clock), and how much of it is missing. */
export interface Charged {
  readonly atMs: number;
  readonly units: number;
}

/** A page of one token bucket of whole tokens, without a block, as `lua/decide.lua` packs it. */
export function chargedOf(value: Buffer, burst: number): Charged {
  const atMs = value.readUIntLE(11, 6);
  // Below 0 where it was overdrawn.
  const level = Number(BigInt.asIntN(56, value.readBigUInt64LE(17)));
  const unit = value.readUIntLE(24, 5);
  return { atMs, units: Math.ceil(burst - level / unit) };
}
