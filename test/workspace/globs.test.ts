import { describe, expect, it } from 'vitest';
import { globMatcher, globOf, isGlob } from '../../src/workspace/globs.ts';

describe('patterns of paths', () => {
  it.each([
    ['*.ts', 'src/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'source/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['**/deep/**', 'src/deep/a/b.ts', true],
    ['./src/*.ts', 'src/a.ts', true],
    ['*.{ts,tsx}', 'src/a.tsx', true],
    ['{src,test}/*.{ts,md}', 'test/b.md', true],
    ['a?c*e.t?t', 'abcxxe.txt', true],
    ['a?c*e.t?t', 'abcxxe.tt', false],
    ['a*a', 'a', false],
    ['a*b*c', 'axbyc', true],
    ['a*b*c', 'axcyb', false],
    ['a*b*c', 'axxc', false],
    ['a*b*c', 'axxbc', true],
    ['a*bb*c', 'abc', false],
    ['a*b*c*d', 'acbd', false],
    ['a*b*b*c', 'abc', false],
    ['a*b*', 'ab', true],
    ['a*b', 'ab', true],
    ['a**b', 'axb', true],
    ['a.c', 'abc', false],
    ['*😀.md', 'x😀.md', true],
    ['secrets/', 'secrets/key', true],
    ['secrets/', 'a/secrets/b/key', true],
    ['secrets/', 'secrets.md', false],
    ['a/secrets/', 'a/secrets/key', true],
    ['a/secrets/', 'b/a/secrets/key', false],
    ['/secrets/', 'secrets/key', true],
    ['a{b}', 'ab', true],
    ['{a}/{b,c}', 'a/c', true],
    ['a{b', 'a{b', true],
    ['a{b,c\n}', 'ac\n', true],
    ['a\n{b,c}', 'a\nc', true],
    ['{b,c}\na', 'c\na', true],
    ['{docs/,src/}', 'a/src/b.ts', true],
    ['docs/{a/,b/}', 'docs/b/c.md', true],
    ['{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}', 'bdfhjl', true],
    [`${'x'.repeat(300)}.key`, `${'x'.repeat(300)}.key`, true],
    [globOf('a{b,c}/d'), 'a{b,c}/d', true],
  ])('%s and %s: %s', (pattern, path, expected) => expect(globMatcher(pattern)(path)).toBe(expected));

  it('have at most 64 alternatives', () => {
    expect(isGlob('{a,b}'.repeat(6))).toBe(true);
    expect(isGlob(`{${'a,'.repeat(64)}b}`)).toBe(false);
    expect(isGlob(`{${'a,'.repeat(63)}b}`)).toBe(true);
  });

  it('match in linear time, however many stars they have', () => {
    const path = `${'a/'.repeat(100)}${'a'.repeat(200)}`;
    expect(globMatcher(`${'**/a/'.repeat(30)}b`)(path)).toBe(false);
    expect(globMatcher(`${'*a'.repeat(90)}b`)(path)).toBe(false);
    expect(globMatcher('{a,b}'.repeat(40))(path)).toBe(false);
  });
});
