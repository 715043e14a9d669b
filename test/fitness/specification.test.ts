import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { breakages, breakagesOfTheWhole } from '../graph/breakages.ts';
import { breakagesOfSrc } from '../simulation/breakages.ts';
import { slipsOfSrc } from '../simulation/slips.ts';

const rulePattern = /\b[BTCNFGSPWD]-\d+[a-z]?\b/g;
const specification = readFileSync('docs/specification.md', 'utf8');
const defined = [...specification.matchAll(/^(?: {2})?- \*\*([A-Z]-\d+[a-z]?)\*\* ((?:.|\n(?! *- |\n))*)/gm)].map(
  ([, id = '', text = '']) => ({ id, text: text.replaceAll(/\s+/g, ' ').trim() }),
);
const rules = new Set(defined.map(({ id }) => id));

function cited(folders: readonly string[]): Set<string> {
  const ids = new Set<string>();
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!/\.tsx?$/.test(name)) continue;
      for (const [id] of readFileSync(join(folder, name), 'utf8').matchAll(rulePattern)) ids.add(id);
    }
  }
  return ids;
}

describe('the specification', () => {
  it('defines every rule once', () => {
    expect(rules.size).toBe(specification.match(/^ *- \*\*/gm)?.length);
    expect(rules.size).toBeGreaterThan(150);
  });

  it('gives each rule, and each letter of one, one sentence', () => {
    const sentences = (text: string) =>
      text
        .replaceAll(/`[^`]*`/g, 'x')
        .split(/[.!?](?=\s|$)/)
        .filter((one) => one.trim() !== '');
    expect(defined.filter(({ text }) => sentences(text).length !== 1 || !text.endsWith('.'))).toEqual([]);
  });

  it('gives the letters of a rule in order, after the sentence that leads', () => {
    const families = Map.groupBy(defined, ({ id }) => id.replace(/[a-z]$/, ''));
    for (const [id, family] of families) {
      const letters = [...'abcdefghijklmnop'].slice(0, family.length - 1).map((letter) => `${id}${letter}`);
      expect(family.map((one) => one.id)).toEqual([id, ...letters]);
    }
  });

  it('no unknown rule is cited', () => {
    const unknown = [...cited(['machines', 'src', 'test'])].filter((id) => !rules.has(id));
    expect(unknown).toEqual([]);
  });
});

it.each([...breakages, ...breakagesOfTheWhole, ...breakagesOfSrc, ...slipsOfSrc])(
  '`npm run verify` breaks code that exists: $name',
  ({ file, from }) => {
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
  },
);
