import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { breakages, breakagesOfTheWhole } from '../graph/breakages.ts';
import { breakagesOfSrc } from '../simulation/breakages.ts';

const rulePattern = /\b([BTCNFSPWD])-(\d)\b/g;
const specification = readFileSync('docs/specification.md', 'utf8');
const rules = new Set([...specification.matchAll(/^- \*\*([A-Z]-\d)\*\* /gm)].map(([, id = '']) => id));

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
    expect(rules.size).toBe([...specification.matchAll(/^- \*\*[A-Z]-\d\*\*/gm)].length);
    expect(rules.size).toBeGreaterThan(45);
  });

  it('no unknown rule is cited', () => {
    const unknown = [...cited(['machines', 'src', 'test'])].filter((id) => !rules.has(id));
    expect(unknown).toEqual([]);
  });
});

it.each([...breakages, ...breakagesOfTheWhole, ...breakagesOfSrc])(
  '`npm run verify` breaks code that exists: $name',
  ({ file, from }) => {
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
  },
);
