import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PawlError } from '../../errors.ts';

/** Returns a file of the built page, from the sources or from the package. */
export function pageFile(name: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'dist/inspector', name);
    if (existsSync(file)) return readFileSync(file, 'utf8');
  }
  throw new PawlError('invalid_options', 'The page of the inspector is not built. Run: npm run build');
}
