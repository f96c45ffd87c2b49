import type { Decision } from 'nestjs-sluice';
import type { Checks } from './checks.js';
import type { Traffic } from './traffic.js';

/** Says where counters live, and asks the app whether that is so. */
export async function counters(traffic: Traffic, checks: Checks, url?: string): Promise<void> {
  console.log(
    url === undefined
      ? 'Counters: in this process (no REDIS_URL, and no redis-server found)\n'
      : `Counters: in Redis (${withoutPassword(url)})\n`,
  );
  const promised = url === undefined ? 'memory' : 'redis';
  for (const { body } of await traffic.inTurn([{ line: 'GET /usage' }])) {
    const sources = (body as Decision[]).map(({ source }) => source);
    checks.equal('the tiers were decided by', sources.join(), `${promised},${promised}`);
  }
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password !== '') shown.password = '***';
  return shown.href;
}
