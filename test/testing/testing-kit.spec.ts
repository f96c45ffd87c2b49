import { AssertionError } from 'node:assert';
import { MemoryStore } from '../../src/index.js';
import { definePolicy } from '../../src/policies/define-policy.js';
import { ManualClock, expectRefusal, type ExpectedRefusal } from '../../src/testing/index.js';

describe('ManualClock', () => {
  it('stands still until it is moved', () => {
    const clock = new ManualClock(1_000);

    expect(clock.now()).toBe(1_000);
    clock.advance(5);
    expect(clock.now()).toBe(1_005);
    clock.advance(-10);
    expect(clock.now()).toBe(995);
    clock.set(7);
    expect(clock.now()).toBe(7);
  });

  it('starts now', () => {
    const before = Date.now();

    expect(new ManualClock().now()).toBeGreaterThanOrEqual(before);
  });

  it.each([NaN, Infinity, 0.5, '5' as never])('takes no %p for milliseconds', (ms) => {
    const clock = new ManualClock(0);

    expect(() => clock.advance(ms)).toThrow(RangeError);
    expect(() => clock.set(ms)).toThrow(`ManualClock: received ${ms}, expected whole milliseconds`);
    expect(() => new ManualClock(ms)).toThrow(RangeError);
    expect(clock.now()).toBe(0);
  });

  it('wakes sleepers in the order of their times', async () => {
    const clock = new ManualClock(0);
    const woken: number[] = [];
    const sleepers = [30, 10, 20, 40].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));

    clock.advance(30);
    await Promise.all(sleepers.slice(0, 3));

    expect(woken).toEqual([10, 20, 30]);
    expect(clock.sleeping).toBe(1);
  });

  it.each([0, -5])('does not sleep for %d ms', async (ms) => {
    const clock = new ManualClock(0);

    await clock.sleep(ms);

    expect(clock.sleeping).toBe(0);
  });

  it("rejects a sleeper with its signal's reason", async () => {
    const clock = new ManualClock(0);
    const leaves = new AbortController();
    const sleeper = clock.sleep(10, leaves.signal);

    leaves.abort(new Error('gone'));

    await expect(sleeper).rejects.toThrow('gone');
    await expect(clock.sleep(10, leaves.signal)).rejects.toThrow('gone');
    expect(clock.sleeping).toBe(0);
  });

  it('is a clock of MemoryStore', async () => {
    const clock = new ManualClock(0);
    const store = new MemoryStore({ clock });
    const policy = definePolicy('plan', 'fixed-window:1/1m', 'policy');
    const consume = async () =>
      (await store.decide({ verb: 'consume', charges: [{ policy, key: 'a', cost: 1 }] }))[0]!
        .allowed;

    expect([await consume(), await consume()]).toEqual([true, false]);
    clock.advance(60_000);
    expect(await consume()).toBe(true);
  });
});

describe('expectRefusal', () => {
  const headers = { 'retry-after': '6', 'cache-control': 'no-store' };

  it.each<[string, Parameters<typeof expectRefusal>[0], ExpectedRefusal?]>(
    [
      ['supertest', { status: 429, headers }],
      ["Fastify's inject", { statusCode: 429, headers }],
      ['fetch', new Response(null, { status: 429, headers })],
      ['a number for a header', { status: 429, headers: { ...headers, 'retry-after': 6 } }],
      ['a 503', { status: 503, headers }, { status: 503 }],
      ['the seconds', { status: 429, headers }, { retryAfter: 6 }],
    ].map(([what, response, expected = {}]) => [what, response, expected] as never),
  )('accepts a refusal of %s', (_what, response, expected) => {
    expect(() => expectRefusal(response, expected)).not.toThrow();
  });

  it.each<[string, object, ExpectedRefusal, string]>([
    ['another status', { status: 200, headers }, {}, 'status 429, received status 200'],
    ['a 503 for a 429', { statusCode: 503, headers }, {}, 'status 429, received status 503'],
    [
      'no Retry-After',
      { status: 429, headers: { 'cache-control': 'no-store' } },
      {},
      'Retry-After in whole seconds, 1 or more, received Retry-After: undefined',
    ],
    [
      'Retry-After: 0',
      { status: 429, headers: { ...headers, 'retry-after': '0' } },
      {},
      'Retry-After in whole seconds, 1 or more, received Retry-After: 0',
    ],
    [
      'another Retry-After',
      { status: 429, headers },
      { retryAfter: 7 },
      'Retry-After: 7, received Retry-After: 6',
    ],
    [
      'a cacheable answer',
      { status: 429, headers: { 'retry-after': '6' } },
      {},
      'Cache-Control: no-store, received Cache-Control: undefined',
    ],
  ])('throws for %s', (_what, response, expected, message) => {
    const check = () => expectRefusal(response as never, expected);

    expect(check).toThrow(AssertionError);
    expect(check).toThrow(`expected a refusal with ${message}`);
  });
});
