import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The machines of sessions, and what they decide by: all that a journal is replayed by (D-6). */
const rooms = ['attempt', 'contract', 'session', 'tool-call', 'turn'];

export const versionFile = 'machines/version.ts';

/** Returns the text of `machines/version.ts`: a digest of the machines' sources, without comments and layout. */
export function machinesVersion(): string {
  const hash = createHash('sha256');
  for (const room of rooms) {
    const folder = join('machines', room);
    const names = readdirSync(folder).filter((name) => name !== 'work.ts');
    for (const name of names.sort()) hash.update(`${name} ${bare(readFileSync(join(folder, name), 'utf8'))}`);
  }
  return `/** The version of the machines (D-6): a digest of their sources. Written by \`npm run draw\`. */
export const machinesVersion = '${hash.digest('hex').slice(0, 12)}';
`;
}

function bare(source: string): string {
  const lines = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').split('\n');
  return lines
    .filter((line) => !line.trimStart().startsWith('//'))
    .join('')
    .replaceAll(/\s+/g, '');
}
