import { violations, type Call, type Circumstances } from './history.js';

const known: Circumstances = {
  timeoutMs: 100,
  turnMs: 50,
  instances: 2,
  losses: 0,
  offsetMs: 5_000,
  toleranceMs: 3,
  counted: new Map(),
};

const call = (change: Partial<Call> = {}): Call => ({
  key: 'key',
  limit: 2,
  onStoreFailure: 'local',
  askedAtMs: 1_000,
  settledAtMs: 1_010,
  decision: { allowed: true, source: 'redis' },
  ...change,
});

const times = (count: number, change?: Partial<Call>): Call[] =>
  Array.from({ length: count }, () => call(change));

const counted = (units: number, atMs = 6_005): Circumstances => ({
  ...known,
  counted: new Map([['key', { units, atMs }]]),
});

const fallback = { allowed: true, source: 'fallback' } as const;
const refused = { allowed: false, source: 'redis' } as const;
const open = { onStoreFailure: 'open', decision: { allowed: true, source: 'open' } } as const;

// RED-60: a checker that can find nothing would prove nothing.
describe('the checker of histories', () => {
  it.each<[string, Call[], Circumstances]>([
    ['nothing', [], known],
    ['what Redis admitted and counted', times(2), counted(2)],
    ['as much as the bound', times(4, { decision: fallback }), counted(2)],
    ['what was charged and answered too late', [call({ decision: fallback })], counted(1)],
    ['what was handed back late', [call({ decision: fallback })], counted(1, 60_000)],
    ['what was charged in the last millisecond', [call(open)], counted(1, 6_103)],
    ['what was lost with everything', times(4), { ...known, losses: 1 }],
  ])('has nothing against %s', (_what, calls, circumstances) => {
    expect(violations(calls, circumstances)).toEqual([]);
  });

  it.each<[string, Call[], Circumstances]>([
    ['key: a call was never settled', [call({ settledAtMs: undefined })], counted(1)],
    ['key: a call was rejected', [call({ decision: undefined })], counted(0)],
    ['key: a call took 151 ms', [call({ settledAtMs: 1_151 })], counted(1)],
    ['key: 5 admitted, bound 4', times(5, { decision: fallback }), counted(2)],
    ['key: 7 admitted, bound 6', times(7), { ...counted(2), losses: 1 }],
    ['key: 2 charged for 1 calls', [call({ decision: fallback })], counted(2)],
    ['key: 1 charged for 0 calls', [call({ decision: refused })], counted(1)],
    ['key: 1 charged, but Redis admitted 2', times(2), counted(1)],
    ['key: charged 4 ms after its deadline', [call(open)], counted(1, 6_104)],
  ])('finds %j', (violation, calls, circumstances) => {
    expect(violations(calls, circumstances)).toEqual([violation]);
  });
});
