/**
 * `npm run prices`: writes `src/vocabulary/price-table.ts` of the newest `@pydantic/genai-prices`, which collects what
 * providers publish. Run it before a release, and look at what changed.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { priceRows, priceSource } from './table.ts';

const name = '@pydantic/genai-prices';
const folder = mkdtempSync(join(tmpdir(), 'pawl-prices-'));
try {
  const npm = (...args: string[]) => execFileSync('npm', args, { cwd: folder, encoding: 'utf8' });
  const version = npm('view', name, 'version').trim();
  const day = JSON.parse(npm('view', name, 'time', '--json'))[version].slice(0, 10);
  npm('install', '--no-save', '--ignore-scripts', '--prefix', folder, `${name}@${version}`);
  const { waitForUpdate } = await import(
    pathToFileURL(join(folder, 'node_modules', '@pydantic', 'genai-prices', 'dist', 'index.js')).href
  );
  const rows = priceRows(await waitForUpdate(), day);
  const file = 'src/vocabulary/price-table.ts';
  writeFileSync(file, priceSource(rows, version, day));
  execFileSync('npx', ['biome', 'check', '--write', file], { stdio: 'ignore' });
  process.stdout.write(`${file}: ${rows.length} models of ${day}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
