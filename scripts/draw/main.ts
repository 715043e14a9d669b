/** `npm run draw`: draws the machines into `visualizations/`, and writes their version. With `--check`, only lists the stale pictures. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventDocument } from '../../test/graph/event-document.ts';
import { loggingDocument } from '../../test/graph/logging-document.ts';
import { slugDocument } from '../../test/graph/slug-document.ts';
import { machinesVersion, versionFile } from './machines-version.ts';
import { pictures } from './pictures.ts';

const check = process.argv.includes('--check');
const files = [...(await pictures())].map(([name, text]) => [join('visualizations', name), text] as const);
const stale = [
  ...files,
  ['docs/events.md', eventDocument()] as const,
  ['docs/slugs.md', slugDocument()] as const,
  ['docs/logging.md', loggingDocument()] as const,
  [versionFile, machinesVersion()] as const,
].filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text);
if (!check) for (const [file, text] of stale) writeFileSync(file, text);
const names = stale.map(([file]) => file).join(', ');
process.stdout.write(
  stale.length === 0 ? 'All pictures are up to date.\n' : `${check ? 'Stale' : 'Drawn'}: ${names}\n`,
);
if (check && stale.length > 0) process.exitCode = 1;
