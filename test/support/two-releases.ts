import { cpSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Pawl from '../../src/index.ts';
import { temporaryFolder } from './temporary.ts';

/** What a release of the package exports. */
export type Release = typeof Pawl;

/** Another release: a copy of the built package, of whose scripts `change` makes each text. */
export async function releaseWith(change: (text: string) => string): Promise<Release> {
  const folder = temporaryFolder();
  cpSync('dist', join(folder, 'dist'), { recursive: true });
  cpSync('package.json', join(folder, 'package.json'));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  let changed = 0;
  for (const file of scripts(join(folder, 'dist', 'chunks'))) {
    const text = readFileSync(file, 'utf8');
    const other = change(text);
    if (other === text) continue;
    changed += 1;
    writeFileSync(file, other);
  }
  if (changed === 0) throw new Error('nothing was changed');
  return import(pathToFileURL(join(folder, 'dist', 'src', 'index.js')).href);
}

function scripts(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? scripts(path) : name.endsWith('.js') ? [path] : [];
  });
}
