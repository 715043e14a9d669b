import { describe, expect, it } from 'vitest';
import { isPromiseLike } from '../../src/platform/promises.ts';
import { reasonsText } from '../../src/schema/validation.ts';

describe('C-6: the reasons why a value is invalid', () => {
  it('are one text of at most 2,000 characters', () => {
    expect(reasonsText([])).toBe('');
    expect(reasonsText(['a is missing', 'b is not a number'])).toBe('a is missing; b is not a number');
    expect(reasonsText(['x'.repeat(2_000)])).toBe('x'.repeat(2_000));
    expect(reasonsText(['x'.repeat(2_001)])).toBe(`${'x'.repeat(2_000)}…`);
  });

  it('hold no half of a character, cut off or from the value', () => {
    expect(reasonsText([`${'x'.repeat(1_999)}😀`])).toBe(`${'x'.repeat(1_999)}…`);
    expect(reasonsText([`${'x'.repeat(1_998)}😀y`])).toBe(`${'x'.repeat(1_998)}😀…`);
    expect(reasonsText(['\ud83d is not a field'])).toBe('\ufffd is not a field');
  });
});

it.each<[unknown, boolean]>([
  [Promise.resolve(), true],
  [Object.fromEntries([['then', () => {}]]), true],
  [Object.fromEntries([['then', {}]]), false],
  [{}, false],
  [null, false],
  ['then', false],
])('%o is still to come: %s', (value, is) => expect(isPromiseLike(value)).toBe(is));
