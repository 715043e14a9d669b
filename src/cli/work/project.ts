import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { backlogFolder } from '../../workflow/backlog/backlog.ts';
import { configFile } from '../../workflow/backlog/config.ts';
import { layouts, restingFolders } from '../../workflow/backlog/item-kinds.ts';
import { UsageError } from '../command-line.ts';

const marks: readonly string[] = [...layouts.map(({ folder }) => folder), ...restingFolders, configFile];

/** How far below a project its backlog is looked for. */
const deepest = 2;
const skipped = new Set(['node_modules', 'dist', 'build', 'target', 'vendor']);

/** Returns the backlog in a folder: the folder itself, or the one below it. Throws `UsageError` if there is none. */
export function backlogIn(given: string): string {
  const project = backlogFolder(given);
  if (isBacklog(project)) return project;
  let folders = [project];
  for (let depth = 1; depth <= deepest; depth += 1) {
    folders = folders.flatMap((folder) => foldersOf(folder).map((name) => join(folder, name)));
    const found = folders.filter(isBacklog);
    const [one] = found;
    if (found.length > 1) throw new UsageError(`${given} holds several backlogs: pass one of ${found.join(', ')}.`);
    if (one !== undefined) return one;
  }
  const names = layouts.map(({ folder }) => folder).join(', ');
  throw new UsageError(`${given} holds no backlog: neither it nor a folder below has one of ${names}.`);
}

function isBacklog(folder: string): boolean {
  return readdirSync(folder).some((name) => marks.includes(name));
}

function foldersOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !skipped.has(entry.name))
    .map(({ name }) => name)
    .toSorted();
}
