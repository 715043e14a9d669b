import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin } from '../../../platform/node-only/paths.ts';
import { configFile } from '../config.ts';
import { layouts } from '../item-kinds.ts';
import { stateFile } from '../state-file.ts';

/** Throws if a path of the backlog is a link that leads out of it. The folders above it must have been checked. */
export function checkInside(backlog: string, path: string): void {
  const whole = join(backlog, path);
  if (!isLink(whole)) return;
  if (!existsSync(whole)) throw new Error(`${path} is a link that leads nowhere`);
  if (isWithin(realpathSync(backlog), realpathSync(whole))) return;
  throw new Error(`${path} is a link that leads outside the backlog`);
}

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** What a run keeps for itself below a backlog, and removes. */
const ownFolders = ['.locks', 'worktrees', 'kept-worktrees'].map((name) => `agent_runs/${name}`);
/** What a run reads, changes and commits besides the items. */
const ownFiles = [...layouts.map(({ summaryFile }) => summaryFile), configFile, stateFile];

/**
 * Throws if a link would lead what a run writes, removes or commits by itself to another place. A backlog from another
 * author may contain links.
 */
export function checkOwnPlaces(backlog: string): void {
  for (const path of ['agent_runs', ...ownFiles]) checkInside(backlog, path);
  for (const folder of ownFolders) {
    const within = isFolder(join(backlog, folder)) ? readdirSync(join(backlog, folder)) : [];
    for (const path of [folder, ...within.map((name) => `${folder}/${name}`)])
      if (isLink(join(backlog, path))) throw new Error(`${path} is a link`);
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
