import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PawlError } from '../../input/errors.ts';

/** The page's icon, in the page itself: a browser that finds none asks the server for it. */
export const icon =
  "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 3 1'%3E%3Cpath d='M0 0h.9v1H0z' fill='%23dc2626'/%3E%3Cpath d='M1 0h.9v1H1zM2 0h.9v1H2z' fill='%2316a34a'/%3E%3C/svg%3E\">";

/** Returns a file of the built page, from the sources or from the package. */
export function pageFile(name: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'dist/inspector', `${name}.gz`);
    if (existsSync(file)) return gunzipSync(readFileSync(file)).toString();
  }
  const what =
    'The files of the inspector are not beside it. Leave `pawl` out of the bundle of your program, as an external';
  throw new PawlError('invalid_options', `${what} package; in the repository of Pawl, run: npm run build`);
}
