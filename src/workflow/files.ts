import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../errors.ts';

/** Writes a file whole or not at all: beside it first, then by renaming (W-4). */
export function writeAtomically(path: string, text: string): void {
  const beside = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    writeDurably(beside, text);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw named(error, beside, path);
  }
}

/** Writes all files of a new folder, or none: into a hidden folder beside it first, then by renaming. */
export function writeFolder(path: string, files: ReadonlyMap<string, string>): void {
  const beside = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    mkdirSync(beside, { recursive: true });
    for (const [name, text] of files) writeDurably(join(beside, name), text);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { recursive: true, force: true });
    throw named(error, beside, path);
  }
}

/** On the disk, not only on its way there: a rename may otherwise overtake what it renames. */
function writeDurably(path: string, text: string): void {
  writeFileSync(path, text);
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** An error that says which file it is about: the one that was to be, not the one beside it. */
function named(error: unknown, beside: string, path: string): Error {
  const message = messageOf(error).replaceAll(beside, path);
  return new Error(message.includes(path) ? message : `${path}: ${message}`, { cause: error });
}

/** The text of a file, without the mark of its encoding; null where there is none. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (isMissing(error)) return null;
    throw named(error, path, path);
  }
}

/** The names of the folders in `path`, sorted; none where there is no such folder. */
export function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => !name.startsWith('.') && statSync(join(path, name), { throwIfNoEntry: false })?.isDirectory())
    .toSorted();
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
