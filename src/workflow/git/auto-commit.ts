import { readConfig } from '../backlog/config.ts';
import { type Commit, commitPaths, notIgnored } from './commits.ts';

/**
 * With `auto_commit`, commits the paths of a backlog that git does not ignore. Returns null if there is nothing to commit:
 * without `auto_commit`, or in a backlog that is not kept in git.
 */
export async function autoCommit(backlog: string, paths: readonly string[], message: string): Promise<Commit | null> {
  if (!readConfig(backlog).auto_commit) return null;
  // Outside a repository, the commit itself fails with the reason.
  const kept = await notIgnored(backlog, paths).catch(() => paths);
  return kept.length === 0 ? null : commitPaths(backlog, kept, message);
}
