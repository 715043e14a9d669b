import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../input/errors.ts';
import { UsageError } from '../command-line.ts';

/** Writes new files, by their paths in `folder`; `command` does it. Overwrites nothing: throws `UsageError` instead. */
export function writeNewFiles(command: string, folder: string, files: Readonly<Record<string, string>>): void {
  const taken = Object.keys(files).filter((file) => existsSync(join(folder, file)));
  if (taken.length > 0)
    throw new UsageError(`${folder} already has ${taken.join(', ')}; ${command} overwrites nothing.`);
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text, { flag: 'wx' });
    }
  } catch (error) {
    throw new UsageError(`The files could not be written: ${reasonOf(error)}.`);
  }
}
