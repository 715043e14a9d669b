/**
 * Returns an environment in which git opens a repository only by its `.git`. Otherwise any folder with the right files in it
 * is one, whose settings have git run programs: an agent, or whoever wrote a project, can make such files. Settings that
 * the environment has already stay.
 */
export function onlyByDotGit<Env extends NodeJS.ProcessEnv>(env: Env): Env & Record<string, string> {
  const given = Number.parseInt(env.GIT_CONFIG_COUNT ?? '0', 10) || 0;
  return {
    ...env,
    GIT_CONFIG_COUNT: String(given + 1),
    [`GIT_CONFIG_KEY_${given}`]: 'safe.bareRepository',
    [`GIT_CONFIG_VALUE_${given}`]: 'explicit',
  };
}

/** What makes a folder a repository: `HEAD`, and the rest here or at another place. */
const parts = ['objects', 'refs', 'commondir'];

/**
 * Returns true if a file or folder with this name, beside `others`, would make their folder look like a repository. Names
 * differ by case on some disks only.
 */
export function makesRepository(name: string, others: readonly string[]): boolean {
  const [own, ...rest] = [name, ...others].map((one) => one.toLowerCase());
  if (own === 'head') return rest.some((one) => parts.includes(one));
  return parts.includes(own ?? '') && rest.includes('head');
}
