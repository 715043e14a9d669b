/**
 * `npm run site`: builds the site out of the documents into site/dist, with the reference of the API, a search without a
 * network and `llms-full.txt`. Installs what it needs in site/. `npm run site -- serve` shows it, `npm run site -- walk`
 * walks it in Chromium.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleLive } from './live.ts';
import { fullText, writePages } from './pages.ts';
import { walk } from './walk.ts';

const root = join(import.meta.dirname, '../..');
const site = join(root, 'site');
const pages = join(site, 'pages');
const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: site, stdio: ['ignore', 'ignore', 'inherit'] });

if (!existsSync(join(site, 'node_modules/vitepress'))) run('npm', 'ci', '--no-audit', '--no-fund', '--silent');
const count = writePages(root, pages);
cpSync(join(site, 'index.md'), join(pages, 'index.md'));
mkdirSync(join(pages, 'public'), { recursive: true });
cpSync(join(root, 'llms.txt'), join(pages, 'public/llms.txt'));
writeFileSync(join(pages, 'public/llms-full.txt'), fullText(root));
cpSync(join(site, 'live/live.html'), join(pages, 'public/live.html'));
await bundleLive(root, join(pages, 'public/live.js'));
const demo = ['src/cli/main.ts', 'demo', '--rehearsal', '--export', join(pages, 'public/demo.html')];
execFileSync(process.execPath, demo, { cwd: root, stdio: 'ignore' });
const asked = process.argv[2];
// Its pages are many, and a walk looks at none of them.
if (asked !== 'walk') run(process.execPath, 'node_modules/typedoc/bin/typedoc', '--options', 'typedoc.json');
else cpSync(join(site, 'no-api.md'), join(pages, 'api/index.md'));
run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', 'build', '.');
process.stdout.write(`${count} pages are in site/dist.\n`);
if (asked === 'walk') {
  await walk(join(site, 'dist'), process.argv[3]);
  process.stdout.write('The site was walked in Chromium: its session, its search, its pages.\n');
}
if (asked === 'serve') run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', 'preview', '.');
