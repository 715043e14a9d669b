import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isMissing, isWithin } from '../platform/node-only/paths.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { type Entry, isPartOfRepository, makesRepository, repositoryParts } from './repositories.ts';

/** Returns the real path of a file or folder. Throws a `ToolError` if it does not exist or is outside the root. */
export async function inside(root: string, given: string): Promise<string> {
  const home = await realpath(root);
  const target = await realpath(resolve(home, given)).catch(() => {
    throw new ToolError(`${given} does not exist in the directory.`);
  });
  return held(home, target, given);
}

/**
 * Returns the real path of a file to write, which need not exist yet. Throws a `ToolError` if it is outside the root, in a
 * `.git` folder, or would make a folder look like one, because git executes files there.
 */
export async function placeInside(root: string, given: string): Promise<string> {
  const home = await realpath(root);
  const target = held(home, await realOrNew(resolve(home, given)), given);
  // On case-insensitive disks, `.GIT` is the same folder.
  const names = relative(home, target).split(sep);
  if (names.some((name) => name.toLowerCase() === '.git')) throw new ToolError(`${given} is in a .git folder.`);
  for (const [index, name] of names.entries()) {
    if (!isPartOfRepository(name)) continue;
    const others = (await partsIn(join(home, ...names.slice(0, index)))).filter((one) => one.name !== name);
    const kind = index === names.length - 1 ? 'file' : 'folder';
    if (makesRepository({ name, kind }, others))
      throw new ToolError(`Writing ${given} would make git treat its folder as a repository.`);
  }
  return target;
}

/** Returns what a folder holds of a repository; nothing if it does not exist. A folder may hold any number of others. */
async function partsIn(folder: string): Promise<Entry[]> {
  const found = repositoryParts.map(async (name): Promise<Entry[]> => {
    const entry = await lstat(join(folder, name)).catch((error) => {
      if (isMissing(error)) return null;
      throw error;
    });
    if (entry === null) return [];
    return [{ name, kind: entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file' }];
  });
  return (await Promise.all(found)).flat();
}

/** The maximum number of steps through dangling links and missing folders. */
const mostLinks = 40;

/** Follows the links in the part of a path that exists. */
async function realOrNew(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(path) === path) throw error;
    if (links > mostLinks) throw new ToolError(`${path} goes through too many links.`);
    // Writing through a dangling link creates its target, which may be outside.
    const link = await readlink(path).catch(() => null);
    if (link !== null) return realOrNew(resolve(await realpath(dirname(path)), link), links + 1);
    return join(await realOrNew(dirname(path), links + 1), basename(path));
  }
}

function held(home: string, target: string, given: string): string {
  if (!isWithin(home, target)) throw new ToolError(`${given} is outside the directory.`);
  return target;
}
