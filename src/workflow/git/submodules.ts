import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isWithin } from '../../platform/node-only/paths.ts';
import { git } from './git.ts';

/** Returns the submodules of a commit that contain uncommitted files in a work tree. A new one leaves submodules empty. */
export async function changedSubmodules(project: string, root: string, base: string): Promise<string[]> {
  const listed = (await git(project, ['ls-tree', '-r', '-z', base])).split('\0');
  const paths = listed.flatMap((line) => /^160000 .*?\t(.*)$/s.exec(line)?.slice(1) ?? []);
  const changed: string[] = [];
  for (const path of paths) if (await isChangedSubmodule(project, join(root, path))) changed.push(path);
  return changed;
}

async function isChangedSubmodule(project: string, folder: string): Promise<boolean> {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  if (readdirSync(folder).length === 0) return false;
  const link = join(folder, '.git');
  const isLink = lstatSync(link, { throwIfNoEntry: false })?.isFile() === true;
  const [, place] = /^gitdir: (.+)$/m.exec(isLink ? readFileSync(link, 'utf8') : '') ?? [];
  const own = realpathSync(await git(project, ['rev-parse', '--path-format=absolute', '--git-common-dir']));
  // The settings of a repository that an agent made could have git run anything.
  const isOwn =
    place !== undefined && existsSync(resolve(folder, place)) && isWithin(own, realpathSync(resolve(folder, place)));
  return !isOwn || (await git(folder, ['status', '--porcelain', '--untracked-files=all'])) !== '';
}
