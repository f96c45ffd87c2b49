import { Logger } from '@nestjs/common';
import { optionsFromEnvironment } from '../../src/config/environment.js';
import { structuredFieldString } from '../../src/http/structured-field.js';
import { Addresses } from '../../src/identity/addresses.js';
import { ApiKeys } from '../../src/identity/api-keys.js';
import { subjectOf } from '../../src/identity/client.js';
import { CounterKeys } from '../../src/identity/counter-keys.js';
import { ipRanges } from '../../src/identity/ip-ranges.js';
import { definePolicy } from '../../src/policies/define-policy.js';
import { parseDuration } from '../../src/policies/duration.js';
import { didYouMean } from '../../src/policies/nearest.js';
import type { PolicyText } from '../../src/policies/policy.js';
import { RateLimitLog } from '../../src/rate-limit.log.js';
import { RateLimitSettings } from '../../src/rate-limit.settings.js';
import { ManualClock } from '../../src/testing/index.js';
import { httpPath } from '../../src/transports/http.transport.js';

const SHORT = 4_096;
const FACTOR = 16;
/** Between what is linear, 16, and what is quadratic, 256. */
const LARGEST_GROWTH = 64;
/** What takes less for 64 KB is not worth the noise of measuring how it grows. */
const NOISE_MS = 0.1;

type Read = (text: string) => unknown;

const addresses = new Addresses();
const keys = new CounterKeys('rl', 'a secret of the tests');
const failing = new ApiKeys({
  verify: (key) => {
    throw new Error(`no row for ${key}, nor for ${key.slice(1)}`);
  },
});
const exempt = new RateLimitSettings({ exempt: { paths: ['/health', '/internal/*'] } });
const log = new RateLimitLog(new RateLimitSettings({ clock: new ManualClock() }));

/** What outsiders send, and then what only configuration holds. */
const readers: [what: string, read: Read][] = [
  ['an address', (text) => addresses.clientAt(text)],
  ['a path', (text) => exempt.isExemptPath(httpPath({ url: `/internal${text}` })!)],
  ['an id', (text) => keys.counter('1:a', subjectOf({ kind: 'user', id: text }))],
  ['a key that an error repeats', (key) => failing.holderFor({}, { 'x-api-key': key })],
  ['an error for the log', (text) => log.resolverFailed(text, new Error(text))],
  ['the name of a tier in a header', structuredFieldString],
  ['a duration', parseDuration],
  ['a policy', (text) => definePolicy('tier', text as PolicyText, 'policy')],
  ["a policy's window", (text) => definePolicy('tier', `gcra:1/${text}` as PolicyText, 'policy')],
  ['ranges', (text) => ipRanges([text])],
  ['a misspelled name', (text) => didYouMean(text, ['sliding-window-log', 'client'])],
  ['an option', (text) => new RateLimitSettings({ prefix: text })],
  [
    'the name of a header',
    (text) => new RateLimitSettings({ identity: { apiKey: { header: text } } }),
  ],
  ['tiers in the environment', (text) => optionsFromEnvironment({ RATE_LIMIT_TIERS: text })],
  ['headers in the environment', (text) => optionsFromEnvironment({ RATE_LIMIT_HEADERS: text })],
];

/** What regular expressions and loops are known to stumble over: repetition, and a late end. */
const hostile = [
  ...['1', 'a', ' ', '\t', ',', '.', ':', '0:', '::', '%', '[', '/', '/*', '-', '=', '@', ';', '"'],
  ...['\\', '\n', '\u202e', '\ud800', '1m', '1,', 'a@b=', 'a@b=c;', 'gcra:1/1m,', '1.1.1.1, '],
];

beforeAll(() => void Logger.overrideLogger(false));

describe('time to read hostile text grows as its length does, and no faster (SEC-63)', () => {
  it.each(readers)('%s', (_what, read) => {
    const slow = hostile.flatMap((part) =>
      ['', '!'].filter((end) => growth(read, part, end) >= LARGEST_GROWTH).map((end) => part + end),
    );

    expect(slow).toEqual([]);
  });
});

/** How many times longer sixteen times the text takes. */
function growth(read: Read, part: string, end: string): number {
  const short = part.repeat(SHORT / part.length) + end;
  const long = part.repeat((SHORT * FACTOR) / part.length) + end;
  const ratioOver = (runs: number): number => {
    const longMs = shortestMs(read, long, runs);
    if (longMs < NOISE_MS) return 1;
    return longMs / Math.max(shortestMs(read, short, runs), NOISE_MS / FACTOR);
  };
  const ratio = ratioOver(5);
  // Looked at twice before anybody is blamed.
  return ratio < LARGEST_GROWTH ? ratio : ratioOver(25);
}

/** The least of some runs: what the machine does beside only adds to it. */
function shortestMs(read: Read, text: string, runs: number): number {
  let shortest = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    try {
      read(text);
    } catch {
      // Most of it is refused.
    }
    shortest = Math.min(shortest, performance.now() - start);
  }
  return shortest;
}
