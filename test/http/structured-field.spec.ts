import * as fc from 'fast-check';
import {
  isStructuredFieldString,
  structuredFieldInteger,
  structuredFieldString,
} from '../../src/http/structured-field.js';

describe('isStructuredFieldString', () => {
  it.each<[name: unknown, isOne: boolean]>([
    ['plan', true],
    ['per-route: GET /search?q=*', true],
    ['a"b\\c', true],
    [' ', true],
    ['~', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['', false],
    // What a header cannot carry
    ['a"b;x=\r\n', false],
    ['plan\n', false],
    ['a\u0000b', false],
    ['a\tb', false],
    ['a\u007fb', false],
    ['é', false],
    ['限', false],
    ['x'.repeat(65_536), false],
    [undefined, false],
    [42, false],
    [['plan'], false],
  ])('SEC-59: of %j is %p', (name, isOne) => {
    expect(isStructuredFieldString(name)).toBe(isOne);
  });
});

describe('structuredFieldString', () => {
  it.each<[text: string, field: string]>([
    ['plan', '"plan"'],
    ['a"b', String.raw`"a\"b"`],
    ['a\\b', String.raw`"a\\b"`],
    ['\\"', String.raw`"\\\""`],
    ['a, b;q=1', '"a, b;q=1"'],
    // What slipped past the check at boot is still no header injection
    ['a\r\nSet-Cookie: x', '"a??Set-Cookie: x"'],
    ['限é', '"??"'],
  ])('SEC-59: writes %j as %s', (text, field) => {
    expect(structuredFieldString(text)).toBe(field);
  });

  it('can be read back', () => {
    fc.assert(
      fc.property(fc.string().filter(isStructuredFieldString), (text) => {
        const field = structuredFieldString(text);

        expect(field).toMatch(/^"(?:[^"\\]|\\["\\])*"$/);
        expect(field.slice(1, -1).replace(/\\(.)/g, '$1')).toBe(text);
      }),
    );
  });
});

describe('structuredFieldInteger', () => {
  it.each<[value: number, field: string]>([
    [0, '0'],
    [12, '12'],
    [11.2, '12'],
    [-3, '0'],
    [-0.5, '0'],
    [999_999_999_999_999, '999999999999999'],
    [Number.MAX_SAFE_INTEGER, '999999999999999'],
    [Number.POSITIVE_INFINITY, '999999999999999'],
  ])('writes %p as %s', (value, field) => {
    expect(structuredFieldInteger(value)).toBe(field);
  });
});
