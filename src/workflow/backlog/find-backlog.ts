import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PawlError } from '../../input/errors.ts';
import { backlogFolder } from './backlog.ts';
import { configFile } from './config.ts';
import { layouts, restingFolders } from './item-kinds.ts';

const marks: readonly string[] = [...layouts.map(({ folder }) => folder), ...restingFolders];

/** The depth below a project to which its backlog is searched. */
const deepest = 2;
const skipped = new Set(['node_modules', 'dist', 'build', 'target', 'vendor']);

/**
 * Returns the backlog folder: the given folder, or a folder below it. Throws `PawlError` (`invalid_workflow`) if neither is a
 * backlog, or several are.
 */
export function backlogIn(given: string): string {
  const project = backlogFolder(given);
  // Nothing was reported yet.
  if (isEmptyBacklog(project)) return project;
  const below = foldersBelow(project);
  // Many projects have folders with these names, but only a backlog contains items.
  for (const isOne of [hasItems, looksLikeOne]) {
    if (isOne(project)) return project;
    const found = below.filter(isOne);
    const [one] = found;
    if (found.length > 1)
      throw new PawlError('invalid_workflow', `${given} holds several backlogs: pass one of ${found.join(', ')}.`);
    if (one !== undefined) return one;
  }
  const names = layouts.map(({ folder }) => folder).join(', ');
  const message = `${given} holds no backlog: neither it nor a folder below has one of ${names}.`;
  throw new PawlError('invalid_workflow', message);
}

function hasItems(folder: string): boolean {
  if (existsSync(join(folder, configFile))) return true;
  return marks.some((mark) => foldersOf(join(folder, mark)).some((name) => /^[A-Z]{2,}-\d+/i.test(name)));
}

/** Whether it has the folders of a backlog, and nothing in them but summaries: the code of a project is not so. */
function isEmptyBacklog(folder: string): boolean {
  const own = marks.map((mark) => join(folder, mark)).filter((path) => existsSync(path));
  return (
    own.length > 0 && own.every((path) => namesIn(path).every((name) => name.startsWith('.') || name.endsWith('.md')))
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return ['it cannot be read'];
  }
}

function looksLikeOne(folder: string): boolean {
  return foldersOf(folder).some((name) => marks.includes(name));
}

function foldersBelow(project: string): string[] {
  let [level, all]: [string[], string[]] = [[project], []];
  for (let depth = 1; depth <= deepest; depth += 1) {
    level = level.flatMap((folder) => foldersOf(folder).map((name) => join(folder, name)));
    all = [...all, ...level];
  }
  return all;
}

/** Returns the names of the subfolders, or an empty list if the folder cannot be read. */
function foldersOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !skipped.has(entry.name))
      .map(({ name }) => name)
      .toSorted();
  } catch {
    return [];
  }
}
