/**
 * Returns an environment in which git opens a repository only by its `.git`. Otherwise any folder with the right files is
 * one, and its settings can make git run programs: an agent or a project's author could create such files. An environment
 * that sets `safe.bareRepository` itself stays unchanged, for programs that work in bare repositories.
 */
export function onlyByDotGit(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isSaid = Object.entries(env).some(
    ([name, value]) => name.startsWith('GIT_CONFIG_KEY_') && value?.toLowerCase() === 'safe.barerepository',
  );
  if (isSaid) return env;
  const given = Number.parseInt(env.GIT_CONFIG_COUNT ?? '0', 10) || 0;
  return {
    ...env,
    GIT_CONFIG_COUNT: String(given + 1),
    [`GIT_CONFIG_KEY_${given}`]: 'safe.bareRepository',
    [`GIT_CONFIG_VALUE_${given}`]: 'explicit',
  };
}

/** A file or a folder, or a link, which may be either. */
export type Entry = { name: string; kind: 'file' | 'folder' | 'link' };

/** What git takes for a repository has these, under these names. */
export const repositoryParts = ['HEAD', 'objects', 'refs', 'commondir'] as const;

/** Some disks don't tell letters by their case. */
export function isPartOfRepository(name: string): boolean {
  return repositoryParts.some((part) => part.toLowerCase() === name.toLowerCase());
}

/**
 * Returns true if an entry, beside `others`, completes what makes their folder look like a repository: a file `HEAD`, and
 * `objects` and `refs`, here or at another place that `commondir` names. Some disks don't tell letters by their case.
 */
export function makesRepository(entry: Entry, others: readonly Entry[]): boolean {
  const all = [...others, entry];
  const has = (name: string, kind: Entry['kind']) =>
    all.some((one) => one.name.toLowerCase() === name && [kind, 'link'].includes(one.kind));
  return (
    isPartOfRepository(entry.name) &&
    has('head', 'file') &&
    (has('commondir', 'file') || (has('objects', 'folder') && has('refs', 'folder')))
  );
}
