import { expect, it } from 'vitest';
import { exactJson } from '../../../src/platform/plain-json.ts';

it('an integer that no number holds exactly is read as its digits, since it may be an id', () => {
  const text =
    '{"id":9007199254740993,"list":[-1234567890123456789,9007199254740991],"price":1.5,"far":1e300,"text":"1"}';
  expect(exactJson(text)).toEqual({
    id: '9007199254740993',
    list: ['-1234567890123456789', 9_007_199_254_740_991],
    price: 1.5,
    far: 1e300,
    text: '1',
  });
  expect(exactJson('12345678901234567890')).toBe('12345678901234567890');
  expect(exactJson('{"__proto__":1}')).toEqual(JSON.parse('{"__proto__":1}'));
  expect(() => exactJson('{')).toThrow(SyntaxError);
});
