import { describe, expect, it } from 'vitest';
import { exactJson, plainJson } from '../../src/platform/plain-json.ts';

describe('C-1: a value that JSON lacks gets a substitute', () => {
  class Empty {}
  const ring: unknown[] = [];
  ring.push(ring);
  const shared = { a: 1 };
  const wrapped = { toJSON: () => ({ big: 1n }) };
  const itself: Record<string, unknown> = { toJSON: () => itself };
  it.each<[string, unknown, unknown]>([
    ['a lone surrogate', 'a\ud800', 'a\ufffd'],
    ['a boolean', false, false],
    ['a number', 1.5, 1.5],
    ['infinity', -Infinity, '-Infinity'],
    ['a bigint', 12345678901234567890n, '12345678901234567890'],
    ['undefined', undefined, null],
    ['null', null, null],
    ['a function', () => 1, '[function]'],
    ['a symbol', Symbol('s'), '[symbol]'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an error', new TypeError('bad'), { name: 'TypeError', message: 'bad' }],
    ['bytes', new Uint8Array(3), '[binary, 3 bytes]'],
    ['a buffer, although it has a toJSON', Buffer.from('four'), '[binary, 4 bytes]'],
    ['a view', new Float64Array(2), '[binary, 16 bytes]'],
    ['an array buffer', new ArrayBuffer(5), '[binary, 5 bytes]'],
    ['a map', new Map<unknown, unknown>([['a', 1n]]), [['a', '1']]],
    ['a set', new Set([1, 'a']), [1, 'a']],
    ['an empty object', {}, {}],
    ['an object of a class', Object.assign(new Empty(), { a: 1 }), { a: 1 }],
    ['an empty object of a class', new Empty(), {}],
    ['an object without fields', new WeakMap(), '[WeakMap]'],
    ['a promise', Promise.resolve(1), '[Promise]'],
    ['fields that are undefined', { a: undefined, b: 1 }, { b: 1 }],
    ['items that are undefined', [undefined, 1], [null, 1]],
    ['a name that is not valid Unicode', { 'a\udc00': 1 }, { 'a\ufffd': 1 }],
    ['a circle', ring, ['[circular]']],
    ['the same object twice, which is no circle', [shared, shared], [shared, shared]],
    ['a toJSON', wrapped, { big: '1' }],
    ['a toJSON that returns itself', itself, '[circular]'],
    ['a field named toJSON', { toJSON: 'text' }, { toJSON: 'text' }],
  ])('%s', (_, value, expected) => expect(plainJson(value)).toEqual(expected));

  it('keeps a field named __proto__, and changes no prototype', () => {
    const json = plainJson(JSON.parse('{"__proto__":{"admin":true},"b":2}'));
    expect(Object.entries(json as object)).toEqual([
      ['__proto__', { admin: true }],
      ['b', 2],
    ]);
  });
});

describe('C-1: of a huge value, a part is read', () => {
  it('counts what it leaves out of fields, items and entries', () => {
    expect(plainJson({ a: 1, b: 2, c: 3, d: 4 }, 3)).toEqual({ a: 1, b: 2, '…': '[2 more left out]' });
    expect(plainJson({ a: 1, b: 2 }, 3)).toEqual({ a: 1, b: 2 });
    expect(plainJson([1, 2, 3, 4], 3)).toEqual([1, 2, '[2 more left out]']);
    expect(plainJson([1, 2], 3)).toEqual([1, 2]);
    expect(plainJson(new Set([1, 2, 3]), 2)).toEqual([1, '[2 more left out]']);
    expect(plainJson(new Map([['a', 1]]), 1)).toEqual(['[1 more left out]']);
    expect(plainJson([[1, 2], 3], 3)).toEqual([[1, '[1 more left out]'], '[1 more left out]']);
    expect(plainJson({ a: { b: 1 } }, 2)).toEqual({ a: { '…': '[1 more left out]' } });
  });

  it('leaves out all if nothing may be read', () => {
    expect(plainJson('text', 0)).toBe('[left out: the result is too large]');
    // What `toJSON` returns is a value of its own.
    expect(plainJson(new Date(0), 1)).toBe('[left out: the result is too large]');
  });
});

describe('integers that no number holds exactly', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['[1, 9007199254740993]', [1, '9007199254740993']],
    ['{"id": 12345678901234567890}', { id: '12345678901234567890' }],
    ['{"most": 1e400}', { most: '1e400' }],
    ['9007199254740991', 9007199254740991],
    ['1.5', 1.5],
    ['1e300', 1e300],
    ['9007199254740993.0', 9007199254740992],
    ['"9007199254740993"', '9007199254740993'],
  ])('%s', (text, value) => expect(exactJson(text)).toEqual(value));
});
