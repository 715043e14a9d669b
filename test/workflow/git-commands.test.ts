import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commitPaths, isCommitted, notIgnored } from '../../src/workflow/git/commits.ts';
import { git, gitStatus, openRepository, repositoryOf, sweepIndexes, withIndex } from '../../src/workflow/git/git.ts';
import { changedBetween, changedNames, snapshot } from '../../src/workflow/git/snapshot.ts';
import { TestBacklog } from '../support/backlog.ts';
import { temporaryFolder } from '../support/temporary.ts';

const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error.message,
  );

describe('a command of git', () => {
  let project: TestBacklog;
  beforeEach(() => {
    project = new TestBacklog();
  });
  afterEach(() => vi.unstubAllEnvs());

  it('gives what it printed, without the line breaks at its end', async () => {
    expect(await git(project.folder, ['log', '--format=%s%n%n'])).toBe('Begin');
  });

  it('fails with what git said, and the command without its options', async () => {
    expect(await failure(git(project.folder, ['-c', 'a.b=c', 'rev-parse', '--verify', 'nothing']))).toBe(
      'git rev-parse failed: fatal: Needed a single revision',
    );
    expect(await failure(git(join(project.folder, 'missing'), ['status']))).toContain('git status failed: spawn git');
  });

  it('an exit code that is fine is no failure', async () => {
    project.write('.gitignore', 'a\n');
    expect(await git(project.folder, ['check-ignore', 'b'], {}, { fine: [1] })).toBe('');
    expect(await git(project.folder, ['check-ignore', 'a'], {}, { fine: [1] })).toBe('a');
    expect(await failure(git(project.folder, ['check-ignore', 'b']))).toContain('git check-ignore failed: ');
    expect(await failure(git(project.folder, ['check-ignore', 'b'], {}, { fine: [2] }))).toContain(
      'git check-ignore failed: ',
    );
  });

  it('S-5: what a hook prints is reported without credentials, and cut', async () => {
    const hook = join(project.folder, '.git/hooks/pre-commit');
    mkdirSync(join(hook, '..'), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\necho "access token: correct-horse"\nprintf '%05000d' 1\nexit 1\n`);
    chmodSync(hook, 0o755);
    const said = await failure(git(project.folder, ['commit', '--allow-empty', '--message=x']));
    expect(said).toMatch(/^git commit failed: access token: /);
    expect(said).not.toContain('correct-horse');
    expect(said?.length).toBeLessThanOrEqual(4_100);
  });

  it.each([
    ['GIT_DIR', '.git/nowhere'],
    ['GIT_WORK_TREE', '/nowhere'],
    ['GIT_COMMON_DIR', '/nowhere'],
    ['GIT_INDEX_FILE', '/nowhere/index'],
    ['GIT_OBJECT_DIRECTORY', '/nowhere'],
    ['GIT_LITERAL_PATHSPECS', '1'],
    ['GIT_ICASE_PATHSPECS', '1'],
  ])('ignores %s from a hook or a user', async (name, value) => {
    project.write('a.txt', 'a');
    vi.stubEnv(name, value);
    expect(await commitPaths(project.folder, ['a.txt'], 'A')).toMatchObject({ ok: true, branch: 'main' });
    expect(await snapshot(project.folder)).toMatchObject({ root: project.folder });
  });

  it('ignores all that would point it elsewhere', async () => {
    const names = [
      ...['DIR', 'WORK_TREE', 'IMPLICIT_WORK_TREE', 'COMMON_DIR', 'INDEX_FILE', 'NAMESPACE', 'SHALLOW_FILE', 'CONFIG'],
      ...['OBJECT_DIRECTORY', 'ALTERNATE_OBJECT_DIRECTORIES', 'QUARANTINE_PATH', 'GRAFT_FILE', 'CONFIG_PARAMETERS'],
      ...['NO_REPLACE_OBJECTS', 'REPLACE_REF_BASE', 'AUTHOR_DATE', 'COMMITTER_DATE', 'LITERAL_PATHSPECS'],
      ...['GLOB_PATHSPECS', 'NOGLOB_PATHSPECS', 'ICASE_PATHSPECS'],
    ];
    for (const name of names) vi.stubEnv(`GIT_${name}`, 'foreign');
    expect(await git(project.folder, ['-c', 'alias.env=!env', 'env'])).not.toContain('foreign');
  });

  it('other variables reach it, and its messages are not translated', async () => {
    vi.stubEnv('GIT_AUTHOR_NAME', 'Of a user');
    vi.stubEnv('LC_ALL', 'de_DE.UTF-8');
    project.write('a.txt', 'a');
    await commitPaths(project.folder, ['a.txt'], 'A');
    expect(project.git('log', '-1', '--format=%an')).toBe('Of a user');
    expect(await git(project.folder, ['-c', 'alias.env=!echo "$LC_ALL $GIT_TERMINAL_PROMPT"', 'env'])).toBe('C 0');
  });

  it('hooks in the work tree, where an agent may have written them, do not run', async () => {
    const hook = (folder: string) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'pre-commit'), '#!/bin/sh\nexit 1\n');
      chmodSync(join(folder, 'pre-commit'), 0o755);
    };
    hook(join(project.folder, 'hooks'));
    project.git('config', 'core.hooksPath', 'hooks');
    expect(await commitPaths(project.folder, ['hooks'], 'Hooks')).toMatchObject({ ok: true });
    project.git('config', '--unset', 'core.hooksPath');
    hook(join(project.folder, '.git/hooks'));
    project.write('a.txt', 'a');
    expect(await commitPaths(project.folder, ['a.txt'], 'A')).toMatchObject({ ok: false });
  });

  it('a hook that is a link into the work tree does not run, and hooks of elsewhere do', async () => {
    project.write('own-hook', '#!/bin/sh\nexit 1\n');
    chmodSync(join(project.folder, 'own-hook'), 0o755);
    mkdirSync(join(project.folder, '.git/hooks'), { recursive: true });
    symlinkSync(join(project.folder, 'own-hook'), join(project.folder, '.git/hooks/pre-commit'));
    expect(await commitPaths(project.folder, ['own-hook'], 'A')).toMatchObject({ ok: true });
    const elsewhere = temporaryFolder();
    writeFileSync(join(elsewhere, 'pre-commit'), '#!/bin/sh\necho no >&2; exit 1\n');
    chmodSync(join(elsewhere, 'pre-commit'), 0o755);
    project.git('config', 'core.hooksPath', elsewhere);
    project.write('b.txt', 'b');
    expect(await commitPaths(project.folder, ['b.txt'], 'B')).toEqual({ ok: false, message: 'git commit failed: no' });
  });

  it('a folder belongs to the repository around it, or to none', async () => {
    project.write('deep/er/x', '');
    expect(await repositoryOf(join(project.folder, 'deep/er'))).toEqual({
      root: project.folder,
      gitFolder: join(project.folder, '.git'),
      prefix: 'deep/er/',
    });
    expect(await repositoryOf(temporaryFolder())).toBeNull();
    expect(await snapshot(temporaryFolder())).toBeNull();
  });

  it('a repository of another user, which git does not open, is not taken for none', async () => {
    // As git says it, when it is told to trust nobody.
    vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(repositoryOf(project.folder)).rejects.toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('dubious ownership'),
    });
  });

  it('the status of a folder in words', async () => {
    project.write('own/a.txt', 'a');
    project.write('other/b.txt', 'b');
    expect(await gitStatus(join(project.folder, 'own'))).toBe('## main\n?? ./');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=All');
    expect(await gitStatus(join(project.folder, 'own'))).toBe('## main');
    expect(await gitStatus(temporaryFolder())).toContain('git status failed: fatal: not a git repository');
  });

  it('a temporary index is its own, and is gone afterwards', async () => {
    const indexes = () => readdirSync(join(project.folder, '.git')).filter((name) => name.endsWith('.index'));
    project.write('a.txt', 'a');
    project.git('add', '--all');
    const repository = await openRepository(project.folder);
    const files = (copy: boolean) =>
      withIndex(repository, { copy }, async (env) => {
        // Git writes a new one only when something is added.
        expect(indexes()).toHaveLength(copy ? 1 : 0);
        return git(project.folder, ['ls-files'], env);
      });
    expect([await files(true), await files(false)]).toEqual(['a.txt', '']);
    expect(await failure(withIndex(repository, { copy: true }, () => Promise.reject(new Error('broken'))))).toBe(
      'broken',
    );
    expect(indexes()).toEqual([]);
  });

  it('the temporary indexes of processes that died are removed, those of others stay', async () => {
    const place = (name: string) => join(project.folder, '.git', name);
    const names = ['pawl-0123456789ab.index', 'pawl-ba9876543210.index', 'pawl-x.index', 'other.index'];
    for (const name of names) writeFileSync(place(name), '');
    const old = Date.now() / 1_000 - 301;
    for (const name of names.filter((one) => one !== names[1])) utimesSync(place(name), old, old);
    await sweepIndexes(project.folder);
    expect(names.map((name) => existsSync(place(name)))).toEqual([false, true, true, true]);
    expect(await failure(sweepIndexes(temporaryFolder()))).toBeNull();
  });

  it('the copy of an index has its time, by which git tells what it must look into', async () => {
    project.write('a.txt', 'a');
    project.git('add', '--all');
    utimesSync(join(project.folder, '.git/index'), 1_700_000_000, 1_700_000_000);
    await withIndex(await openRepository(project.folder), { copy: true }, async ({ GIT_INDEX_FILE }) => {
      expect(statSync(GIT_INDEX_FILE).mtimeMs).toBe(1_700_000_000_000);
    });
  });

  it('what changed between two states, below a folder, without the files of writes under way', async () => {
    project.write('own/a.txt', '1');
    project.write('own/agent_runs/log', '1');
    const before = await snapshot(join(project.folder, 'own'));
    project.write('own/a.txt', '2');
    project.write('own/agent_runs/log', '2');
    project.write('b.txt', 'b');
    project.write('own/.0123456789ab.tmp', 'half');
    const after = await snapshot(join(project.folder, 'own'));
    if (before === null || after === null) throw new Error('there is no repository');
    expect(await changedBetween(join(project.folder, 'own'), before, after)).toEqual(['../b.txt', 'a.txt']);
    expect(await changedNames(project.folder, before.tree, after.tree)).toEqual(['b.txt', 'own/a.txt']);
    expect(await changedNames(project.folder, after.tree, after.tree)).toEqual([]);
  });

  it('a state can be taken where the logs of runs are ignored', async () => {
    project.write('.gitignore', 'agent_runs\n');
    project.write('agent_runs/log', '1');
    const before = await snapshot(project.folder);
    project.write('agent_runs/log', '2');
    expect(await snapshot(project.folder)).toEqual(before);
  });

  it('names that are patterns are names, and ignored ones are known', async () => {
    project.write('.gitignore', 'a*\n');
    expect(await notIgnored(project.folder, ['abc', 'b', '*', ':x'])).toEqual(['b', '*', ':x']);
    project.write('[x].txt', '1');
    project.write('x.txt', '1');
    await commitPaths(project.folder, ['[x].txt'], 'One');
    expect(project.git('ls-files')).toBe('[x].txt');
    expect([await isCommitted(project.folder, '[x].txt'), await isCommitted(project.folder, 'x.txt')]).toEqual([
      true,
      false,
    ]);
    expect(await isCommitted(temporaryFolder(), 'x')).toBe(false);
  });
});
