import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
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
import { messageOf } from '../../input/errors.ts';
import { isMissing } from '../../platform/node-only/paths.ts';

/** Writes a file completely or not at all: writes a temporary file, then renames it (W-4). */
export function writeAtomically(path: string, text: string | Uint8Array): void {
  const beside = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    writeDurably(beside, text);
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined) chmodSync(beside, mode);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw named(error, beside, path);
  }
}

/** Writes all files of a new folder or none: writes a hidden temporary folder, then renames it. */
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

/** Writes a file and flushes it to disk; otherwise the rename could take effect before the content is written. */
function writeDurably(path: string, text: string | Uint8Array): void {
  writeFileSync(path, text);
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns an error that names the intended file rather than the temporary one. */
function named(error: unknown, beside: string, path: string): Error {
  const message = messageOf(error).replaceAll(beside, path);
  return new Error(message.includes(path) ? message : `${path}: ${message}`, { cause: error });
}

const temporary = /^\.[0-9a-f]{12}\.tmp$/;

/** Removes what writes that died left in some folders, while nothing else writes there. */
export function sweep(folders: readonly string[]): void {
  for (const folder of folders) {
    const names = existsSync(folder) ? readdirSync(folder) : [];
    for (const name of names) if (temporary.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Returns the text of a file without its byte order mark; null if there is no file. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (isMissing(error)) return null;
    throw named(error, path, path);
  }
}

/** Returns the text of a file to modify; null if the file does not exist, or is not UTF-8 and must not be modified. */
export function textToChange(path: string): string | null {
  const text = readIfThere(path);
  return text === null || !isUtf8(readFileSync(path)) ? null : text;
}

/** Remembers files as they are. The returned function writes them back. */
export function remember(paths: readonly string[]): () => void {
  const before = paths.flatMap((path) => (existsSync(path) ? [{ path, bytes: readFileSync(path) }] : []));
  return () => {
    for (const { path, bytes } of before) if (!readFileSync(path).equals(bytes)) writeAtomically(path, bytes);
  };
}

/** Returns the sorted names of the folders in `path`; an empty list if `path` does not exist. */
export function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => !name.startsWith('.') && isFolder(join(path, name)))
    .toSorted();
}

/** The errors of a link that cannot lead anywhere. */
const deadLinks: readonly unknown[] = ['ELOOP', 'ENAMETOOLONG'];

/** Whether a path leads to a folder. A link that leads nowhere, or to itself, does not. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && 'code' in error && deadLinks.includes(error.code))) return false;
    throw named(error, path, path);
  }
}
