import * as fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/policies/duration.js';
import type { Duration, DurationText } from '../../src/policies/duration.js';

describe('parseDuration', () => {
  it.each<[value: Duration, ms: number]>([
    [1, 1],
    [60_000, 60_000],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['1ms', 1],
    ['500ms', 500],
    ['10s', 10_000],
    ['1m', 60_000],
    ['90m', 5_400_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['9007199254740991ms', Number.MAX_SAFE_INTEGER],
    ['104249991d', 9_007_199_222_400_000], // the most days below 2^53 ms
  ])('reads %p as %i ms', (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  it.each<[idea: string, value: unknown]>([
    ['empty', ''],
    ['no unit', '1000'],
    ['no number', 'ms'],
    ['zero', 0],
    ['zero', '0s'],
    ['zero padded', '01s'],
    ['negative', -1],
    ['negative', '-1m'],
    ['sign', '+1m'],
    ['fraction', 1.5],
    ['fraction', '1.5s'],
    ['fraction', '1.0s'],
    ['exponent', '1e3s'],
    ['hexadecimal', '0x1m'],
    ['separator', '1_000ms'],
    ['trailing space', '1m '],
    ['leading space', ' 1m'],
    ['inner space', '1 m'],
    ['trailing newline', '1m\n'],
    ['two durations', '1m30s'],
    ['upper case', '1M'],
    ['unknown unit', '1w'],
    ['unit in words', '1 minute'],
    ['inherited name as unit', '1constructor'],
    ['other digits', '٣s'],
    ['full-width digits', '１s'],
    ['not finite', Number.POSITIVE_INFINITY],
    ['not finite', 'Infinityms'],
    ['not a number', Number.NaN],
    ['not a number', 'NaNs'],
    ['above 2^53', Number.MAX_SAFE_INTEGER + 1],
    ['above 2^53', '9007199254740992ms'],
    ['above 2^53', '9007199254740993ms'],
    ['above 2^53 once in ms', '9007199254740991s'],
    ['above 2^53 once in ms', '104249992d'],
    ['64 KB of digits', `${'1'.repeat(65_536)}s`],
    ['64 KB of zeros', `${'0'.repeat(65_536)}1s`],
    ['another type', undefined],
    ['another type', null],
    ['another type', true],
    ['another type', 1n],
    ['another type', ['1m']],
    ['another type', { toString: () => '1m' }],
  ])('refuses, %s: %p', (_idea, value) => {
    expect(() => parseDuration(value as string)).toThrow(RangeError);
  });

  it.each<[value: unknown, received: string]>([
    ['1m ', "'1m '"],
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
  ])('says that it received %p and what it expects', (value, received) => {
    expect(() => parseDuration(value as string)).toThrow(
      `received ${received}, expected a duration: whole milliseconds from 1 to 2^53 - 1, ` +
        `or text such as '500ms', '10s', '1m', '2h' or '30d'`,
    );
  });

  it('keeps hostile text short in the message', () => {
    expect(() => parseDuration('9'.repeat(65_536))).toThrow(/^received '9{64}'.{1,230}$/);
  });
});

describe('formatDuration', () => {
  it.each<[ms: number, text: string]>([
    [1, '1ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_001, '1001ms'],
    [60_000, '1m'],
    [90_000, '90s'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
    [90_000_000, '25h'],
    [2_592_000_000, '30d'],
    [0, '0ms'],
  ])('prints %i ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('prints what parseDuration reads back', () => {
    fc.assert(
      fc.property(wholeMs(), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  it('prints nothing longer than another text of the same duration', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), unit(), (count, name) => {
        const text: DurationText = `${count}${name}`;

        expect(formatDuration(parseDuration(text)).length).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});

function wholeMs() {
  const size = fc.constantFrom(1, 1_000, 60_000, 3_600_000, 86_400_000);
  return fc.oneof(
    fc.maxSafeNat().filter((ms) => ms > 0),
    fc.tuple(fc.integer({ min: 1, max: 10_000 }), size).map(([count, ms]) => count * ms),
  );
}

function unit() {
  return fc.constantFrom('ms', 's', 'm', 'h', 'd');
}
