import { MemoryStore } from '../src/stores/memory/memory.store.js';
import type { Charge, Decision } from '../src/stores/rate-limit.store.js';
import { ManualClock } from '../src/testing/manual-clock.js';
import { Turns } from '../src/turns.js';
import type { PolicyText } from '../src/policies/policy.js';
import { policyOf } from './support/policies.js';

const START = 1_760_000_400_000;

describe('Turns', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let turns: Turns;

  beforeEach(() => {
    clock = new ManualClock(START);
    store = new MemoryStore({ clock });
    turns = new Turns(clock);
  });

  function take(
    text: PolicyText,
    { cost = 1, patienceMs = Infinity, signal }: Partial<Wait> = {},
  ): Promise<Decision> {
    const charge: Charge = { policy: policyOf(text), key: 'key', cost };
    return turns.take(charge, patienceMs, signal, async (verb) => {
      const [decision] = await store.decide({ verb, charges: [charge] });
      return decision!;
    });
  }

  interface Wait {
    readonly cost: number;
    readonly patienceMs: number;
    readonly signal: AbortSignal;
  }

  async function pass(ms: number): Promise<void> {
    await settle();
    clock.advance(ms);
    await settle();
  }

  const remembered = () => (turns as unknown as { lines: Map<string, unknown> }).lines.size;

  it('serves two hundred in order, and forgets the line', async () => {
    const served: number[] = [];
    const callers = Array.from({ length: 200 }, (_, caller) =>
      take('token-bucket:1/1s').then(() => served.push(caller)),
    );

    for (let second = 1; second < 200; second += 1) await pass(1000);
    await Promise.all(callers);
    await settle();

    expect(served).toEqual(Array.from({ length: 200 }, (_, caller) => caller));
    expect(clock.now() - START).toBe(199_000);
    expect(remembered()).toBe(0);
  });

  it('lets a small cost not pass a large one that waits', async () => {
    const served: string[] = [];
    await take('token-bucket:10/10s', { cost: 10 });
    const large = take('token-bucket:10/10s', { cost: 10 }).then(() => served.push('large'));
    const small = take('token-bucket:10/10s').then(() => served.push('small'));

    await pass(5000);
    expect(served).toEqual([]);
    await pass(5000);
    await pass(1000);
    await Promise.all([large, small]);

    expect(served).toEqual(['large', 'small']);
  });

  it('goes on behind somebody who has less patience', async () => {
    await take('token-bucket:1/1s');
    const ahead = take('token-bucket:1/1s', { patienceMs: 500 });
    const behind = take('token-bucket:1/1s');

    await settle();
    expect(await ahead).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    await pass(1000);

    expect(await behind).toMatchObject({ allowed: true });
  });

  it('gives up in the line when its own patience ends', async () => {
    await take('token-bucket:1/1h');
    const ahead = take('token-bucket:1/1h');
    const behind = take('token-bucket:1/1h', { patienceMs: 2000 });

    await pass(1999);
    expect(clock.sleeping).toBe(2);
    await pass(1);

    expect(await behind).toMatchObject({
      allowed: false,
      remaining: 0,
      delayMs: 0,
      retryAfterMs: 3_598_000,
    });
    expect(clock.sleeping).toBe(1);
    await pass(3_598_000);
    expect(await ahead).toMatchObject({ allowed: true });
  });

  it('refuses who gives up in the line even where there would be room for it', async () => {
    await take('leaky-bucket:10/1s,burst=10', { cost: 5 });
    const ahead = take('leaky-bucket:10/1s,burst=10', { cost: 10 });
    const behind = take('leaky-bucket:10/1s,burst=10', { patienceMs: 100 });

    await pass(100);

    expect(await behind).toMatchObject({ allowed: false, delayMs: 0 });
    expect((await behind).retryAfterMs).toBeGreaterThanOrEqual(1);
    await pass(400);
    expect(await ahead).toMatchObject({ allowed: true });
  });

  it('has no patience at all when told so', async () => {
    await take('token-bucket:1/1s');
    const ahead = take('token-bucket:1/1s');

    expect(await take('token-bucket:1/1s', { patienceMs: 0 })).toMatchObject({ allowed: false });

    await pass(1000);
    await ahead;
  });

  it('keeps the order when somebody in the middle leaves', async () => {
    const gone = new AbortController();
    const served: string[] = [];
    await take('token-bucket:1/1s');
    const first = take('token-bucket:1/1s').then(() => served.push('first'));
    const second = take('token-bucket:1/1s', { signal: gone.signal });
    const third = take('token-bucket:1/1s').then(() => served.push('third'));

    gone.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    await settle();
    expect(served).toEqual([]);
    await pass(1000);
    expect(served).toEqual(['first']);
    await pass(1000);
    await Promise.all([first, third]);

    expect(served).toEqual(['first', 'third']);
    expect(remembered()).toBe(0);
  });

  it('waits again when somebody else was quicker', async () => {
    await take('token-bucket:1/1s');
    const waiting = take('token-bucket:1/1s');

    await settle();
    // Another process, which knows nothing of this line, comes first at the very moment.
    clock.advance(1000);
    store.decideNow({
      verb: 'consume',
      charges: [{ policy: policyOf('token-bucket:1/1s'), key: 'key', cost: 1 }],
    });
    await settle();
    expect(clock.sleeping).toBe(1);
    await pass(1000);

    expect(await waiting).toMatchObject({ allowed: true });
  });

  it('passes an error of the store on, and lets the next try', async () => {
    const charge: Charge = { policy: policyOf('token-bucket:1/1s'), key: 'key', cost: 1 };
    const failing = turns.take(charge, Infinity, undefined, () =>
      Promise.reject(new Error('the store is away')),
    );
    const next = take('token-bucket:1/1s');

    await expect(failing).rejects.toThrow('the store is away');
    expect(await next).toMatchObject({ allowed: true });
    await settle();
    expect(remembered()).toBe(0);
  });

  it('leaves no listener on a signal that outlives many waits', async () => {
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    process.on('warning', (warning) => warnings.push(warning));

    for (let call = 0; call < 30; call += 1) {
      const served = take('leaky-bucket:10/1s', { signal });
      await pass(100);
      await served;
    }
    process.removeAllListeners('warning');

    expect(warnings).toEqual([]);
  });
});

/** Lets everybody do what they can without time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}
