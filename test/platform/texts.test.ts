import { describe, expect, it } from 'vitest';
import { decodedUri, tame, wellFormed, wholeWordsOf } from '../../src/platform/text.ts';

describe('C-6: JSON with valid Unicode alone', () => {
  it('replaces lone surrogates in texts and names, at any depth', () => {
    expect(wellFormed('a\ud800')).toBe('a\ufffd');
    expect(wellFormed({ 'b\udc00': ['\ud800', { c: '\ud800' }], n: null, seven: 7, yes: true })).toEqual({
      'b\ufffd': ['\ufffd', { c: '\ufffd' }],
      n: null,
      seven: 7,
      yes: true,
    });
    for (const value of [null, undefined, 7, false]) expect(wellFormed(value)).toBe(value);
  });
});

describe('texts for a terminal', () => {
  it.each([
    ['plain text\tand\nlines', 'plain text\tand\nlines'],
    ['a\u001b[31mred', 'a\\u{1b}[31mred'],
    ['bell\u0007', 'bell\\u{7}'],
    ['carriage\rreturn', 'carriage\\u{d}return'],
    ['\u202egnirts', '\\u{202e}gnirts'],
    ['soft\u00adhyphen', 'soft\\u{ad}hyphen'],
    ['a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
    ['lone \ud800', 'lone \\u{d800}'],
    ['👩‍🚀', '👩‍🚀'],
    ['❤️‍🔥', '❤️‍🔥'],
    ['a\u200db', 'a\\u{200d}b'],
    ['\u200d', '\\u{200d}'],
    ['👩a\u200d', '👩a\\u{200d}'],
    ['👩\u202e', '👩\\u{202e}'],
    ['ab👩‍c', 'ab👩‍c'],
  ])('%j is written as %j', (text, written) => expect(tame(text)).toBe(written));
});

it('S-5: a text is cut after a whole word', () => {
  expect(wholeWordsOf('one two', 7)).toBe('one two');
  expect(wholeWordsOf('one two', 6)).toBe('one …');
  expect(wholeWordsOf('one two ', 4)).toBe('one ');
  expect(wholeWordsOf('one two three', 9)).toBe('one two …');
});

it('a part of a URI that cannot be decoded stays as it is', () => {
  expect([decodedUri('a%20b'), decodedUri('half%off')]).toEqual(['a b', 'half%off']);
});
