import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file of this package, from its sources and from its build alike. */
export function packageFile(name: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return join(folder, name);
  }
  return name;
}
