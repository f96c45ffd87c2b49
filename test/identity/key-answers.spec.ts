import { KeyAnswers, type KeyAnswer } from '../../src/identity/key-answers.js';
import { ManualClock } from '../../src/testing/index.js';

const alice: KeyAnswer = { kind: 'api-key', id: 'alice' };

function answersOf(
  verify: (key: string) => KeyAnswer | Promise<KeyAnswer>,
  { maxKeys = 100, timeoutMs = 1_000 } = {},
) {
  const clock = new ManualClock(0);
  const asked: string[] = [];
  const answers = new KeyAnswers({
    verify: (key) => (asked.push(key), verify(key)),
    maxAgeMs: 5_000,
    maxKeys,
    timeoutMs,
    clock,
  });
  return { answers, asked, clock };
}

describe('KeyAnswers', () => {
  it.each<[string, KeyAnswer]>([
    ['a holder', alice],
    ['that a key is nobody’s', null],
  ])('remembers %s until maxAge is over', async (_what, answer) => {
    const { answers, asked, clock } = answersOf(() => answer);

    expect(answers.holderOf('k')).toBe(answer);
    clock.advance(4_999);
    expect(answers.holderOf('k')).toBe(answer);
    expect(asked).toHaveLength(1);

    clock.advance(1);
    expect(answers.holderOf('k')).toBe(answer);
    expect(asked).toHaveLength(2);
  });

  it('needs no promise for what it remembers', async () => {
    const { answers } = answersOf(async () => alice);

    expect(answers.holderOf('k')).toBeInstanceOf(Promise);
    await answers.holderOf('k');

    expect(answers.holderOf('k')).toBe(alice);
  });

  it('counts the age from the question, however late the answer came', async () => {
    let answer!: (holder: KeyAnswer) => void;
    const { answers, asked, clock } = answersOf(
      () => new Promise<KeyAnswer>((resolve) => (answer = resolve)),
    );
    const first = answers.holderOf('k');
    clock.advance(4_000);
    answer(alice);
    await first;

    clock.advance(1_000);
    void answers.holderOf('k');

    expect(asked).toHaveLength(2);
    answer(alice);
  });

  it('asks once for all who come with one key at the same time', async () => {
    const { answers, asked } = answersOf(async (key) => (key === 'k' ? alice : null));

    const all = await Promise.all(
      ['k', 'k', 'other', 'k', 'other'].map(async (k) => answers.holderOf(k)),
    );

    expect(all).toEqual([alice, alice, null, alice, null]);
    expect(asked).toEqual(['k', 'other']);
  });

  it.each<[string, () => never | Promise<never>]>([
    [
      'thrown',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejected', () => Promise.reject(new Error('broken'))],
  ])('does not remember what was %s, and all who waited are told', async (_how, fail) => {
    let isBroken = true;
    const { answers, asked } = answersOf(() => (isBroken ? fail() : alice));
    const ask = async () => answers.holderOf('k');

    const told = await Promise.allSettled([ask(), ask()]);
    expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected']);

    const before = asked.length;
    isBroken = false;
    expect(await ask()).toBe(alice);
    expect(asked).toHaveLength(before + 1);
  });

  it('gives up an answer that does not come, and asks anew', async () => {
    let isHanging = true;
    const { answers, asked } = answersOf(
      () => (isHanging ? new Promise<never>(() => undefined) : alice),
      { timeoutMs: 5 },
    );

    await expect(Promise.all([answers.holderOf('k'), answers.holderOf('k')])).rejects.toThrow(
      'verify did not answer within 5 ms',
    );
    isHanging = false;

    expect(answers.holderOf('k')).toBe(alice);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, KeyAnswer, KeyAnswer]>([
    ['revoked', alice, null],
    ['issued', null, alice],
  ])('forgets what held before a key was %s', (_what, before, after) => {
    let answer = before;
    const { answers, asked, clock } = answersOf(() => answer);
    void answers.holderOf('k');
    answer = after;
    clock.advance(5_000);

    expect(answers.holderOf('k')).toBe(after);
    expect(answers.holderOf('k')).toBe(after);
    expect(asked).toHaveLength(2);
  });

  it('stays bounded, and made-up keys push no holder out', () => {
    const { answers, asked } = answersOf((key) => (key === 'k' ? alice : null), { maxKeys: 10 });
    void answers.holderOf('k');

    for (let n = 0; n < 1_000; n++) void answers.holderOf(`made-up-${n}`);
    asked.length = 0;
    void answers.holderOf('k');
    for (let n = 0; n < 1_000; n++) void answers.holderOf(`made-up-${n}`);

    expect(asked).toHaveLength(1_000);
  });

  it.each([
    ['case', 'sk', 'SK'],
    ['space', 'sk', 'sk '],
    ['NUL', 'sk', 'sk\0'],
    ['forms of one letter', '\u00e9', 'e\u0301'],
    ['what UTF-8 cannot tell apart', '\ud800', '\ufffd'],
  ])('takes no key for another: %s', (_what, one, other) => {
    const { answers } = answersOf((key) => ({ kind: 'api-key', id: key }));

    expect([one, other].map((key) => (answers.holderOf(key) as { id: string }).id)).toEqual([
      one,
      other,
    ]);
  });

  it('keeps no key, nor the same hash of one as another process (SEC-56)', () => {
    const [one, other] = [1, 2].map(() => {
      const { answers } = answersOf(() => alice);
      void answers.holderOf('sk_live_secret');
      return keysIn(answers).join();
    });

    expect(one).toHaveLength(32);
    expect(one).not.toContain('sk_live');
    expect(other).not.toBe(one);
  });
});

/** The keys of every map that an object holds. */
function keysIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return value instanceof Map ? [...value.keys()] : Object.values(value).flatMap(keysIn);
}
