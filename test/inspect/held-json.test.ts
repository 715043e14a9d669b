import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heldJson } from '../../src/inspect/page/content/held-json.ts';

describe('S-8: JSON in a text is shown as a value only if that keeps all of it', () => {
  it.each([
    ['{"id": 9007199254740993}'],
    ['{"a": 1, "a": 2}'],
    ['{"2": "b", "1": "a"}'],
    ['[0.1234567890123456789]'],
    ['[-0]'],
    ['[1e400]'],
    ['{"__proto__": 1, "a": 2'],
    ['plain'],
    ['"text"'],
  ])('%s stays as it is', (text) => expect(heldJson(text)).toBe(text));

  it.each([
    ['{"score": 1.0, "rate": 1e3, "text": "a\\/b \\u00e9"}', { score: 1, rate: 1000, text: 'a/b é' }],
    [' [ ] ', []],
    ['{"a": {"b": [true, null, -1.50]}}', { a: { b: [true, null, -1.5] } }],
  ])('%s is a value', (text, value) => expect(heldJson(text)).toEqual(value));

  it('what JSON.stringify wrote is a value, however it is spaced', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
        fc.nat(4),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          const held = heldJson(text);
          // Numbers of more digits than are always kept stay as they were written.
          if (typeof held === 'string') expect(text).toMatch(/\d{16}|\d\.\d{10,}|-0/);
          else expect(JSON.stringify(held)).toBe(JSON.stringify(value));
        },
      ),
    );
  });
});
