/** `npm run draw`: draws the machines into `visualizations/`. With `--check`, only lists the stale pictures. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { slugDocument } from '../../test/graph/slug-document.ts';
import { pictures } from './pictures.ts';

const folder = 'visualizations';
const check = process.argv.includes('--check');
const stale: string[] = [];
for (const [name, text] of [...(await pictures()), ['../docs/slugs.md', slugDocument()] as const]) {
  const file = join(folder, name);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  stale.push(name);
  if (!check) writeFileSync(file, text);
}
process.stdout.write(
  stale.length === 0 ? 'All pictures are up to date.\n' : `${check ? 'Stale' : 'Drawn'}: ${stale.join(', ')}\n`,
);
if (check && stale.length > 0) process.exitCode = 1;
