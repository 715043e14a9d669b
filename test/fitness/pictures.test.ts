import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pictures } from '../../scripts/draw/pictures.ts';

it('the machine diagrams are up to date (npm run draw), and tests cover every arrow in them', async () => {
  const drawn = await pictures();
  expect(readdirSync('visualizations').toSorted()).toEqual([...drawn.keys()].toSorted());
  const stale = [...drawn].filter(([name, text]) => readFileSync(join('visualizations', name), 'utf8') !== text);
  expect(stale.map(([name]) => name)).toEqual([]);
  for (const [name, text] of drawn)
    if (name.endsWith('.coverage.svg')) expect([name, text.includes('#dc2626')]).toEqual([name, false]);
}, 60_000);
