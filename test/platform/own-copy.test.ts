import { describe, expect, it } from 'vitest';
import { ownCopy } from '../../src/platform/own-copy.ts';

describe('a copy that its receiver may modify', () => {
  it('equals the value and shares no list and no plain object with it', () => {
    const value = { list: [{ a: 1 }], none: null, text: 'x', bare: Object.assign(Object.create(null), { b: 2 }) };
    const copy = ownCopy(value);
    expect(copy).toEqual(value);
    expect([copy.list === value.list, copy.list[0] === value.list[0], copy.bare === value.bare]).toEqual([
      ...[false, false, false],
    ]);
    const named = ownCopy(JSON.parse('{"__proto__":{"c":3}}'));
    Object.defineProperty(named, '__proto__', { value: 4 });
    expect(Object.keys(ownCopy(JSON.parse('{"__proto__":{"c":3}}')))).toEqual(['__proto__']);
  });

  it('shares bytes, addresses and functions', () => {
    const value = { bytes: new Uint8Array(2), url: new URL('https://a.test'), call: () => 1 };
    const copy = ownCopy(value);
    expect([copy.bytes === value.bytes, copy.url === value.url, copy.call === value.call]).toEqual([true, true, true]);
  });

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"0":', '}'],
  ])('of %s that are too deep for the stack ends', (_, open, close) => {
    const deep = JSON.parse(`${open.repeat(100_000)}[]${close.repeat(100_000)}`);
    let [one, other] = [deep, ownCopy(deep)];
    let copied = 0;
    for (; one !== other; copied += 1) [one, other] = [one[0], other[0]];
    expect(copied).toBe(501);
  });
});
