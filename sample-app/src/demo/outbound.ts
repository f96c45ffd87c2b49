import type { PartnerApi } from '../webhooks/partner.api.js';
import type { Checks } from './checks.js';
import type { Traffic } from './traffic.js';

const ORDERS = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'];
const SPACING_MS = 200;

/** One webhook that makes six calls to a partner who takes five a second. */
export async function outbound(
  traffic: Traffic,
  partner: PartnerApi,
  checks: Checks,
): Promise<void> {
  const startMs = performance.now();
  const request = { line: 'POST /webhooks/orders-shipped', body: { orderIds: ORDERS } };
  const [reply] = await traffic.inTurn([request]);
  checks.equal('the webhook answered', reply?.status, 200);
  checks.equal('calls at the partner', partner.calls.length, ORDERS.length);

  const timesMs = partner.calls.map(({ atMs }) => atMs - startMs);
  for (const [turn, timeMs] of timesMs.entries()) {
    checks.notBefore(`call ${turn} to the partner`, timeMs, turn * SPACING_MS);
  }
  console.log('\nPOST /webhooks/orders-shipped: one call in, six calls out, five a second at most');
  console.log(`  the partner was called after ${timesMs.map(Math.floor).join(', ')} ms`);
}
