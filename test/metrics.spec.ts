import { Controller, Get, Header } from '@nestjs/common';
import * as fc from 'fast-check';
import {
  LimiterService,
  RateLimit,
  RateLimitEvents,
  RateLimitMetrics,
  SkipRateLimit,
  type DecisionCount,
} from '../src/index.js';
import { prometheusText } from '../src/prometheus-text.js';
import { eventually } from './support/eventually.js';
import { platforms, type RateLimit as Options, type RunningApp } from './support/platforms.js';
import { RedisServer } from './support/redis-server.js';

@Controller()
class Search {
  constructor(private readonly metrics: RateLimitMetrics) {}

  @Get('find') find() {}
  @Get('skipped') @SkipRateLimit() skipped() {}
  @Get('open') @RateLimit({ policy: 'fixed-window:9/1h', onStoreFailure: 'open' }) open() {}
  @Get('closed') @RateLimit({ policy: 'fixed-window:9/1h', onStoreFailure: 'closed' }) closed() {}

  @Get('metrics')
  @SkipRateLimit()
  @Header('Content-Type', RateLimitMetrics.contentType)
  prometheus() {
    return this.metrics.prometheus();
  }
}

const parts = (rateLimit: Options) => ({
  rateLimit,
  controllers: [Search],
  providers: [RateLimitMetrics],
});

/** `tier outcome source count`, sorted. */
function counted({ app }: RunningApp): string[] {
  const { decisions } = app.get(RateLimitMetrics).snapshot();
  return decisions
    .map(({ tier, outcome, source, count }) => `${tier} ${outcome} ${source} ${count}`)
    .toSorted();
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** As the exposition format's grammar has it; throws for a line that is none. */
function samplesOf(text: string): Sample[] {
  const samples: Sample[] = [];
  let family = '';
  expect(text.endsWith('\n')).toBe(true);
  for (const line of text.slice(0, -1).split('\n')) {
    const head = /^# (?:HELP|TYPE) ([a-z_]+) \S/.exec(line);
    if (head !== null) {
      family = head[1]!;
      continue;
    }
    const [, name, list = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\d+)$/.exec(line)!;
    expect(name).toBe(family);
    const labels: Record<string, string> = {};
    const rest = list.replace(
      /([a-z]+)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/g,
      (_all, label: string, told: string) => {
        labels[label] = told.replace(/\\(.)/g, (_pair, escaped: string) =>
          escaped === 'n' ? '\n' : escaped,
        );
        return '';
      },
    );
    expect(rest).toBe('');
    samples.push({ name: name!, labels, value: Number(value) });
  }
  return samples;
}

const perTier = (samples: readonly Sample[]) =>
  samples
    .filter(({ name }) => name === 'rate_limit_decisions_total')
    .map(({ labels, value }) => ({ ...labels, count: value }));

describe.each(platforms)('RateLimitMetrics on $name', ({ start }) => {
  it('are the requests that were made, whoever made them', async () => {
    const LIMIT = { front: 3, trial: 2 };
    const visitors = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const visit = fc.record({
      path: fc.constantFrom('/find', '/find', '/find', '/skipped', '/nowhere'),
      from: fc.constantFrom(...visitors),
    });

    await fc.assert(
      fc.asyncProperty(
        fc.array(visit, { minLength: 15, maxLength: 40, size: 'max' }),
        async (visits) => {
          const running = await start(
            parts({
              tiers: [
                { name: 'all', by: 'ip', policy: 'fixed-window:1000/1h', phase: 'edge' },
                { name: 'front', by: 'ip', policy: `fixed-window:${LIMIT.front}/1h` },
                {
                  name: 'trial',
                  by: 'global',
                  policy: `fixed-window:${LIMIT.trial}/1h`,
                  mode: 'shadow',
                },
              ],
            }),
          );
          const expected: Record<string, number> = {};
          const used = new Map<string, number>();
          let tried = 0;
          const count = (key: string): void => void (expected[key] = (expected[key] ?? 0) + 1);

          for (const { path, from } of visits) {
            await running.ask(path, { from });
            count('all allowed memory');
            if (path !== '/find') continue;
            const isAllowed = (used.get(from) ?? 0) < LIMIT.front;
            const wouldPass = tried < LIMIT.trial;
            count(`front ${isAllowed ? 'allowed' : 'refused'} memory`);
            count(`trial ${wouldPass ? 'allowed' : 'would-refuse'} memory`);
            if (!isAllowed) continue;
            used.set(from, (used.get(from) ?? 0) + 1);
            if (wouldPass) tried++;
          }

          expect(counted(running)).toEqual(
            Object.entries(expected)
              .map(([key, n]) => `${key} ${n}`)
              .toSorted(),
          );
          await running.app.close();
        },
      ),
      { numRuns: 10 },
    );
  });

  it('tell who decided, and how the store was, through an outage (RED-49)', async () => {
    const server = await RedisServer.start();
    try {
      const running = await start(
        parts({
          redis: server.url,
          tiers: [{ name: 'plan', by: 'ip', policy: 'fixed-window:2/1h' }],
        }),
      );
      const { ask, app } = running;
      const metrics = app.get(RateLimitMetrics);
      const from = '127.0.0.2';

      for (let n = 0; n < 4; n++) await ask('/find', { from });
      const before = counted(running);
      await server.kill();
      for (let n = 0; n < 4; n++) await ask('/find');
      for (let n = 0; n < 2; n++) await ask('/open', { from: '127.0.0.3' });
      await ask('/closed', { from: '127.0.0.4' });
      const during = counted(running);
      const away = samplesOf(metrics.prometheus());
      await server.restart();
      await eventually('all is handed back', async () => {
        await ask('/open', { from: '127.0.0.5' });
        return metrics.snapshot().handedBack > 0;
      });
      const { status, handedBack } = metrics.snapshot();

      expect(before).toEqual([
        'plan allowed redis 2',
        'plan refused denied-cache 1',
        'plan refused redis 1',
      ]);
      expect(during).toEqual([
        // 127.0.0.1 its two, 127.0.0.3 its two, 127.0.0.4 only looked at beside a closed tier.
        'plan allowed fallback 5',
        'plan allowed redis 2',
        'plan refused denied-cache 1',
        'plan refused fallback 2',
        'plan refused redis 1',
        'route allowed open 2',
        'route refused closed 1',
      ]);
      const value = (name: string, labels: object = {}): number | undefined =>
        away.find(
          (sample) =>
            sample.name === `rate_limit_${name}` &&
            JSON.stringify(sample.labels) === JSON.stringify(labels),
        )?.value;
      expect(value('store_state', { state: 'down' })).toBe(1);
      expect(value('store_state', { state: 'up' })).toBe(0);
      expect(value('store_failures_total', { kind: 'not-sent' })).toBeGreaterThanOrEqual(4);
      expect(value('store_failures_total', { kind: 'bug' })).toBe(0);
      expect(value('failed_over_total', { policy: 'local' })).toBe(7);
      expect(value('failed_over_total', { policy: 'open' })).toBe(2);
      expect(value('failed_over_total', { policy: 'closed' })).toBe(1);
      expect(value('owed_keys')).toBe(2);
      expect(value('handed_back_keys_total')).toBe(0);
      expect(handedBack).toBeGreaterThanOrEqual(2);
      expect(status).toMatchObject({ store: 'redis', state: 'up', owed: 0 });
    } finally {
      await server.stop();
    }
  });

  it('have as many series for a thousand clients as for one, and name none (SEC-57)', async () => {
    const keys = new Set(Array.from({ length: 200 }, (_, n) => `sk_live_${n}`));
    const { ask } = await start(
      parts({
        identity: {
          apiKey: { verify: (key) => (keys.has(key) ? { id: `customer-${key}` } : null) },
          secret: '0123456789abcdef',
        },
        tiers: [{ name: 'plan', policy: 'fixed-window:5/1h' }],
      }),
    );
    for (const key of keys) await ask('/find', { headers: { 'x-api-key': key } });

    const { headers, text } = await ask('/metrics');

    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).not.toMatch(/sk_live|customer|127\.0/);
    expect(perTier(samplesOf(text))).toEqual([
      { tier: 'plan', outcome: 'allowed', source: 'memory', count: 200 },
    ]);
  });

  it('count nothing where nobody provides them', async () => {
    const { app, ask } = await start({
      rateLimit: { tiers: [{ name: 'plan', policy: 'fixed-window:5/1h' }] },
    });

    await ask('/find');

    expect(app.get(RateLimitEvents).listenerCount('decided')).toBe(0);
    expect(() => app.get(RateLimitMetrics)).toThrow(/RateLimitMetrics/);
  });

  it('leave what LimiterService decides to its callers', async () => {
    const running = await start(parts({}));

    await running.app.get(LimiterService).consume({ name: 'sms', policy: 'gcra:1/1h' }, 'gateway');

    expect(counted(running)).toEqual([]);
  });
});

describe('the text of metrics', () => {
  const status = {
    store: 'redis',
    state: 'degraded',
    forMs: 5,
    failures: {},
    failedOver: { local: 0, open: 0, closed: 0 },
    owed: 0,
  } as const;

  it('says what each metric is, before its samples', () => {
    const decisions = [
      { tier: 'plan', outcome: 'would-refuse', source: 'denied-cache', count: 3 },
    ] as const;

    expect(prometheusText({ decisions, handedBack: 7, status })).toBe(
      `# HELP rate_limit_decisions_total Decisions of requests' tiers, by outcome and by who decided.
# TYPE rate_limit_decisions_total counter
rate_limit_decisions_total{tier="plan",outcome="would-refuse",source="denied-cache"} 3
# HELP rate_limit_store_state 1 for the state that the store is in.
# TYPE rate_limit_store_state gauge
rate_limit_store_state{state="up"} 0
rate_limit_store_state{state="degraded"} 1
rate_limit_store_state{state="down"} 0
# HELP rate_limit_store_failures_total Calls of the store that failed, by kind.
# TYPE rate_limit_store_failures_total counter
rate_limit_store_failures_total{kind="not-sent"} 0
rate_limit_store_failures_total{kind="ambiguous"} 0
rate_limit_store_failures_total{kind="unavailable"} 0
rate_limit_store_failures_total{kind="misconfigured"} 0
rate_limit_store_failures_total{kind="poisoned-key"} 0
rate_limit_store_failures_total{kind="bug"} 0
# HELP rate_limit_failed_over_total Charges that onStoreFailure decided, by policy.
# TYPE rate_limit_failed_over_total counter
rate_limit_failed_over_total{policy="local"} 0
rate_limit_failed_over_total{policy="open"} 0
rate_limit_failed_over_total{policy="closed"} 0
# HELP rate_limit_handed_back_keys_total Keys counted here while the store was away and charged there since.
# TYPE rate_limit_handed_back_keys_total counter
rate_limit_handed_back_keys_total 7
# HELP rate_limit_owed_keys Keys counted here while the store was away and not yet charged there.
# TYPE rate_limit_owed_keys gauge
rate_limit_owed_keys 0
`,
    );
  });

  it('carries every name of a tier', () => {
    const name = fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'n', ',', '}', '=', 'é') });
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const decisions = names.map<DecisionCount>((tier) => ({
          tier,
          outcome: 'refused',
          source: 'redis',
          count: 1,
        }));

        const samples = samplesOf(prometheusText({ decisions, handedBack: 0, status }));

        expect(perTier(samples)).toEqual(decisions);
      }),
    );
  });
});
