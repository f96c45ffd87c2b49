import type { MetricsSnapshot } from './metrics-snapshot.js';
import { STORE_ERRORS, type StoreErrorKind } from './stores/redis/store-error.js';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number, labels?: Labels];

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

const STATES = ['up', 'degraded', 'down'] as const;
const KINDS = Object.keys(STORE_ERRORS) as StoreErrorKind[];

/**
 * A snapshot in Prometheus' text format. What has not happened yet is there with 0, so that its
 * first occurrence is an increase; only a tier appears with its first decision.
 */
export function prometheusText(snapshot: MetricsSnapshot): string {
  return familiesOf(snapshot)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(([value, labels]) => `${name}${labelText(labels)} ${value}\n`);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

function familiesOf({ decisions, handedBack, status }: MetricsSnapshot): Family[] {
  const { state, failures, failedOver, owed } = status;
  return [
    {
      name: 'rate_limit_decisions_total',
      help: "Decisions of requests' tiers, by outcome and by who decided.",
      type: 'counter',
      samples: decisions.map(({ count, ...labels }) => [count, labels]),
    },
    {
      name: 'rate_limit_store_state',
      help: '1 for the state that the store is in.',
      type: 'gauge',
      samples: STATES.map((name) => [name === state ? 1 : 0, { state: name }]),
    },
    {
      name: 'rate_limit_store_failures_total',
      help: 'Calls of the store that failed, by kind.',
      type: 'counter',
      samples: KINDS.map((kind) => [failures[kind] ?? 0, { kind }]),
    },
    {
      name: 'rate_limit_failed_over_total',
      help: 'Charges that onStoreFailure decided, by policy.',
      type: 'counter',
      samples: Object.entries(failedOver).map(([policy, count]) => [count, { policy }]),
    },
    {
      name: 'rate_limit_handed_back_keys_total',
      help: 'Keys counted here while the store was away and charged there since.',
      type: 'counter',
      samples: [[handedBack]],
    },
    {
      name: 'rate_limit_owed_keys',
      help: 'Keys counted here while the store was away and not yet charged there.',
      type: 'gauge',
      samples: [[owed]],
    },
  ];
}

function labelText(labels: Labels | undefined): string {
  if (labels === undefined) return '';
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return `{${pairs.join()}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
}
