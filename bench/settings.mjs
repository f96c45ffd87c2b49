// What every contender is given, and how long each is measured.
export const isQuick = process.argv.includes('--quick');

/** A full run stays within six minutes. */
export const ROUNDS = isQuick ? 3 : 7;
export const ROUND_MS = isQuick ? 100 : 700;
export const HTTP_ROUND_MS = isQuick ? 300 : 700;
export const PROBE_ROUNDS = isQuick ? 1 : 3;
export const PROBE_MS = isQuick ? 50 : 150;
export const HTTP_WARM_UP_MS = isQuick ? 300 : 1_000;
export const MILLION = isQuick ? 20_000 : 1_000_000;

export const IN_FLIGHT = [1, 16, 128];
export const CONNECTIONS = 64;

/** Never reached: what is measured is admitting. */
export const LIMIT = 1_000_000_000;
export const MINUTE = { name: 'minute', windowMs: 60_000 };
export const ONE_TIER = [MINUTE];
export const THREE_TIERS = [
  { name: 'second', windowMs: 1_000 },
  MINUTE,
  { name: 'hour', windowMs: 3_600_000 },
];

export const KEYS = Array.from({ length: 1_000 }, (_, index) => `customer-${index}`);
