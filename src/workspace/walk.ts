import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';

const mostFiles = 5_000;
const mostFolders = 5_000;
/** Entries of one folder that are looked at. */
const mostEntries = 20_000;
export const skipped: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist']);
const mostSkipped = 20;

/** File paths with slashes. `isComplete` is false if some files are missing, except those in the folders `notSearched`. */
export type Files = { names: string[]; isComplete: boolean; notSearched: string[] };

/** The first entries of a folder, and whether there are more. Throws once `signal` aborts. */
export async function entriesInFolder(
  folder: string,
  signal: AbortSignal | undefined,
): Promise<{ entries: Dirent[]; isComplete: boolean }> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    signal?.throwIfAborted();
    if (entries.length === mostEntries) return { entries, isComplete: false };
    entries.push(entry);
  }
  return { entries, isComplete: true };
}

/** Lists at most `mostFiles` files below `folder`, in order. Links are not followed. Throws once `signal` aborts. */
export async function filesBelow(folder: string, signal: AbortSignal | undefined): Promise<Files> {
  const found: Files = { names: [], isComplete: true, notSearched: [] };
  let folders = 0;
  const walk = async (above: string): Promise<void> => {
    signal?.throwIfAborted();
    folders += 1;
    if (folders > mostFolders) {
      found.isComplete = false;
      return;
    }
    const { entries, isComplete } = await entriesInFolder(join(folder, above), signal).catch((error) => {
      signal?.throwIfAborted();
      // A folder that may not be read, or has just gone.
      void error;
      return { entries: [], isComplete: false };
    });
    found.isComplete &&= isComplete;
    for (const entry of entries.toSorted((one, other) => one.name.localeCompare(other.name))) {
      if (found.names.length >= mostFiles) {
        found.isComplete = false;
        return;
      }
      const path = `${above}${entry.name}`;
      if (entry.isDirectory() && skipped.has(entry.name)) {
        if (found.notSearched.length < mostSkipped) found.notSearched.push(path);
      } else if (entry.isDirectory()) await walk(`${path}/`);
      else if (entry.isFile()) found.names.push(path);
    }
  };
  await walk('');
  return found;
}
