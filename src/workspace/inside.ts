import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolError } from '../tools/result.ts';

/** Returns the real path of what exists. Throws a `ToolError` if it is missing, or outside the root, links followed. */
export async function inside(root: string, given: string): Promise<string> {
  const home = await realpath(root);
  const target = await realpath(resolve(home, given)).catch(() => {
    throw new ToolError(`${given} does not exist in the directory.`);
  });
  return held(home, target, given);
}

/**
 * Returns the real path where a file may be written, which need not be there yet. Throws a `ToolError` if that is outside
 * the root, links followed, or in its `.git`, since git runs what is there.
 */
export async function placeInside(root: string, given: string): Promise<string> {
  const home = await realpath(root);
  const target = held(home, await realOrNew(resolve(home, given)), given);
  // On some disks, `.GIT` is the same folder.
  const names = relative(home, target).split(sep);
  if (names.some((name) => name.toLowerCase() === '.git')) throw new ToolError(`${given} is in a .git folder.`);
  return target;
}

/** The most dangling links on the way to a file, each of which may lead to the next. */
const mostLinks = 40;

/** Resolves the links of the part of a path that exists. */
async function realOrNew(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(path) === path) throw error;
    if (links > mostLinks) throw new ToolError(`${path} goes through too many links.`);
    // A write through a dangling link would make its target, wherever that is.
    const link = await readlink(path).catch(() => null);
    if (link !== null) return realOrNew(resolve(await realpath(dirname(path)), link), links + 1);
    return join(await realOrNew(dirname(path), links + 1), basename(path));
  }
}

function held(home: string, target: string, given: string): string {
  const way = relative(home, target);
  const isOutside = way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
  if (isOutside) throw new ToolError(`${given} is outside the directory.`);
  return target;
}
