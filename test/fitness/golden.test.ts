import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { transcript } from '../support/golden.ts';

const long = (price: number) => ({
  text: `A text that is long enough costs $${price} today`,
  count: price,
  '*3': `&${price}`,
});

it.each<[string, unknown, unknown]>([
  ['a number after a dollar sign', [long(5), long(5)], [long(7), long(7)]],
  ['a Map', new Map([['a', 1]]), new Map([['a', 2]])],
  ['a Date', new Date(0), new Date(1)],
  ['an error', new Error('one'), new Error('two')],
])('a golden file shows a change in %s', (_what, before, after) => {
  expect(transcript({ case: before })).not.toBe(transcript({ case: after }));
});

it('prints a value completely, however deep it stands', () => {
  let value: unknown = `the innermost ${'text '.repeat(40)}`;
  for (let depth = 0; depth < 80; depth += 1) value = { depth, value };
  expect(transcript({ case: value })).toContain('the innermost');
});

it('a person can review the golden files: lines of at most 160 characters, and less than 160 kB in all', () => {
  const folder = 'test/machines/golden';
  const texts = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8'));
  const long = texts.flatMap((text) => text.split('\n')).filter((line) => line.length > 160);
  expect(long).toEqual([]);
  expect(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBeLessThan(160_000);
});
