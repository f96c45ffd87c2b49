import { repeat, type Request } from './traffic.js';

export interface Expectation {
  readonly endpoint: string;
  readonly policy: string;
  readonly requests: readonly Request[];
  /** All at once instead of one after the other. */
  readonly together?: boolean;
  /** How many pass, at any time of day; the others are refused. */
  readonly admits: number;
  /** What those that pass are answered. */
  readonly status: number;
  /** The tier that refuses the others; absent when the endpoint refuses by itself. */
  readonly refusedBy?: string;
  /** Seconds that the others are sent away for, at most. */
  readonly retryAtMost?: number;
  /** Tiers that clients are told of. */
  readonly tiers: readonly string[];
  /** Milliseconds that each of those that pass is held, at least. */
  readonly heldMs?: readonly number[];
}

const apiKey = 'demo-pro-key';
const wrongPassword = { email: 'ada@example.com', password: 'guess' };

export const EXPECTATIONS: readonly Expectation[] = [
  {
    endpoint: 'GET /health',
    policy: 'skipped',
    requests: repeat(20, { line: 'GET /health' }),
    admits: 20,
    status: 200,
    tiers: ['edge'],
  },
  {
    endpoint: 'GET /search',
    policy: 'gcra:10/1m,burst=3',
    requests: repeat(5, { line: 'GET /search?q=tea', apiKey }),
    admits: 3,
    status: 200,
    refusedBy: 'route',
    retryAtMost: 6,
    tiers: ['edge', 'plan', 'route'],
  },
  {
    // Unlike a fixed window it admits no more when a minute ends in the middle.
    endpoint: 'GET /search/suggest',
    policy: 'sliding-window-counter:20/1m',
    requests: repeat(25, { line: 'GET /search/suggest?q=te', apiKey }),
    admits: 20,
    status: 200,
    refusedBy: 'route',
    retryAtMost: 63,
    tiers: ['edge', 'plan', 'route'],
  },
  {
    endpoint: 'POST /exports/csv + pdf',
    policy: 'token-bucket:20/1h, cost 5',
    requests: repeat(
      6,
      { line: 'POST /exports/csv', apiKey },
      { line: 'POST /exports/pdf', apiKey },
    ),
    admits: 4,
    status: 201,
    refusedBy: 'route',
    retryAtMost: 900,
    tiers: ['edge', 'plan', 'route'],
  },
  {
    endpoint: 'POST /login',
    policy: 'sliding-window-log:5/1m',
    requests: repeat(7, { line: 'POST /login', body: wrongPassword }),
    admits: 5,
    status: 401,
    refusedBy: 'route',
    retryAtMost: 60,
    tiers: ['edge', 'route'],
  },
  {
    endpoint: 'POST /messages',
    policy: 'fixed-window:5/1d',
    requests: repeat(7, { line: 'POST /messages', apiKey }),
    admits: 5,
    status: 201,
    refusedBy: 'day',
    retryAtMost: 86_400,
    tiers: ['edge', 'plan', 'minute', 'day'],
  },
  {
    // Every answer takes 400 tokens: 1000, 600, 200, and then 200 in debt.
    endpoint: 'POST /completions',
    policy: 'token-bucket:1000/1h, charged after',
    requests: repeat(5, { line: 'POST /completions', apiKey, body: { prompt: 'tea' } }),
    admits: 3,
    status: 200,
    retryAtMost: 724,
    tiers: ['edge', 'plan'],
  },
  {
    endpoint: 'GET /reports/preview',
    policy: 'leaky-bucket:60/1m,burst=3',
    requests: repeat(5, { line: 'GET /reports/preview', apiKey }),
    together: true,
    admits: 3,
    status: 200,
    refusedBy: 'route',
    retryAtMost: 1,
    tiers: ['edge', 'plan', 'route'],
    heldMs: [0, 1_000, 2_000],
  },
];
