import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the path of a file in this package, from the sources or from the build. */
export function packageFile(name: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return join(folder, name);
  }
  return name;
}
