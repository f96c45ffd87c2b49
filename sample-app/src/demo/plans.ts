import type { Checks } from './checks.js';
import { printTable } from './table.js';
import { isRefusal, repeat, toldOf, type Traffic } from './traffic.js';

const SENT = 110;
const PLANS = [
  { plan: 'free', apiKey: 'demo-free-key', admits: 100 },
  { plan: 'pro', apiKey: 'demo-pro-key', admits: SENT },
];

/** The same requests with the keys of two customers. */
export async function plans(traffic: Traffic, checks: Checks): Promise<void> {
  const rows = [];
  for (const { plan, apiKey, admits } of PLANS) {
    const replies = await traffic.inTurn(repeat(SENT, { line: 'GET /usage', apiKey }));
    const admitted = replies.filter(({ status }) => status === 200).length;
    checks.equal(`requests of the ${plan} plan`, admitted, admits);
    checks.equal(`${plan} refused`, replies.filter(isRefusal).length, SENT - admits);
    rows.push([plan, SENT, admitted, SENT - admitted, toldOf('plan', replies.at(-1)!) ?? '']);
  }
  console.log('\nGET /usage by plan');
  printTable(['plan', 'sent', 'admitted', 'refused', 'RateLimit'], rows);
}
