import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commitPaths, isCommitted } from '../../src/workflow/git/commits.ts';
import { git, gitStatus } from '../../src/workflow/git/git.ts';
import { TestBacklog } from '../support/backlog.ts';
import { gitThat } from '../support/fake-git.ts';
import { until } from '../support/journaled.ts';
import { isRunning } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary.ts';

let project: TestBacklog;
beforeEach(() => {
  project = new TestBacklog();
});
const files = () => project.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n');
const staged = () => project.git('diff', '--cached', '--name-only');

describe('running git', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('stops a hung git after five minutes, with its children', async () => {
    const begun = join(temporaryFolder(), 'begun');
    gitThat(`sleep 1000 &\necho $! > ${begun}.new\nmv ${begun}.new ${begun}\nwait`);
    const failed = git(project.folder, ['log']).catch((error: Error) => error.message);
    await until(() => existsSync(begun));
    const sleeper = Number(readFileSync(begun, 'utf8'));
    onTestFinished(() => void (isRunning(sleeper) && process.kill(sleeper)));
    vi.advanceTimersByTime(299_999);
    expect(isRunning(sleeper)).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await failed).toMatch(/^git log failed: it took more than 300 s/);
    expect(vi.getTimerCount()).toBe(0);
    await until(() => !isRunning(sleeper));
  });

  it('that has ended is not waited for because of what it left behind, which holds its output', async () => {
    const begun = join(temporaryFolder(), 'begun');
    gitThat(`sleep 1000 &\necho $! > ${begun}.new\nmv ${begun}.new ${begun}\necho said`);
    const told = git(project.folder, ['log']);
    let isOver = false;
    void told.finally(() => {
      isOver = true;
    });
    await until(() => isOver || (existsSync(begun) && vi.getTimerCount() === 2));
    const sleeper = Number(readFileSync(begun, 'utf8'));
    onTestFinished(() => void (isRunning(sleeper) && process.kill(sleeper)));
    expect(isOver).toBe(false);
    for (let second = 0; second < 100 && !isOver; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate);
    }
    expect(await told).toBe('said');
    expect(isRunning(sleeper)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([false, true])(
    'leaves what it started to its work, whether or not that prints all the time: %j',
    async (prints) => {
      const folder = temporaryFolder();
      const [gate, done] = [join(folder, 'gate'), join(folder, 'done')];
      const printer = !prints ? '' : `(while [ ! -e ${done} ]; do echo printed; done) &\n`;
      execFileSync('mkfifo', [gate]);
      gitThat(`${printer}(read -r line < ${gate}; echo more; echo more >&2; echo yes > ${done}) &\necho said`);
      const told = git(project.folder, ['log']);
      let isOver = false;
      void told.then(() => {
        isOver = true;
      });
      await until(() => vi.getTimerCount() === 2);
      for (let second = 0; second < 100 && !isOver; second += 1) {
        await vi.advanceTimersByTimeAsync(1_000);
        await new Promise(setImmediate);
      }
      expect((await told).split('\n').filter((line) => line !== 'printed')).toEqual(['said']);
      expect(vi.getTimerCount()).toBe(0);
      writeFileSync(gate, 'go\n');
      await until(() => existsSync(done));
    },
  );

  it('lets it remove its locks first, but kills it if it does not end', async () => {
    const folder = temporaryFolder();
    const [begun, lock] = [join(folder, 'begun'), join(folder, 'lock')];
    const hung = (onTerm: string) => {
      // The child reports its own start: until it has replaced the forked shell, SIGTERM would still run the shell's trap.
      gitThat(`trap '${onTerm}' TERM\ntouch ${lock}\nwhile :; do sh -c 'touch ${begun}; sleep 1000' & wait; done`);
      return git(project.folder, ['log']).catch((error: Error) => error.message);
    };
    const polite = hung(`rm ${lock}; exit 1`);
    await until(() => existsSync(begun));
    vi.advanceTimersByTime(300_000);
    expect(await polite).toMatch(/^git log failed: it took more than 300 s/);
    expect([existsSync(lock), vi.getTimerCount()]).toEqual([false, 0]);
    rmSync(begun);
    const stubborn = hung('true');
    await until(() => existsSync(begun));
    vi.advanceTimersByTime(300_000);
    vi.advanceTimersByTime(5_000);
    expect(await stubborn).toMatch(/^git log failed: it took more than 300 s/);
    expect([existsSync(lock), vi.getTimerCount()]).toEqual([true, 0]);
  });

  it('leaves no timer behind', async () => {
    gitThat('echo fine');
    expect(await git(project.folder, ['log'])).toBe('fine');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('reports the exit code if git printed nothing', async () => {
    gitThat('exit 3');
    expect(await git(project.folder, ['log']).catch(({ message }) => message)).toBe('git log failed: it ended with 3');
  });
});

describe('git status', () => {
  it('leaves the index alone, which others may be about to lock', async () => {
    project.write('a.txt', 'a');
    await commitPaths(project.folder, ['a.txt'], 'A');
    utimesSync(join(project.folder, 'a.txt'), 1, 1);
    const index = () => readFileSync(join(project.folder, '.git/index'));
    const before = index();
    expect(await gitStatus(project.folder)).toBe('## main');
    expect(index().equals(before)).toBe(true);
  });
});

describe('git outside a repository', () => {
  it('fails with its message', async () => {
    const folder = temporaryFolder();
    const message = 'git commit failed: fatal: not a git repository';
    await expect(git(folder, ['commit', '--allow-empty', '--message=x'])).rejects.toThrow(message);
    expect(await gitStatus(folder)).toContain('git status failed: fatal: not a git repository');
  });
});

describe('W-2: a commit of paths', () => {
  it('can be the first of a repository, and holds them alone', async () => {
    project.git('update-ref', '-d', 'HEAD');
    project.write('a.txt', 'a');
    project.write('b.txt', 'b');
    expect(await isCommitted(project.folder, 'a.txt')).toBe(false);
    expect(await commitPaths(project.folder, ['a.txt'], 'The first')).toMatchObject({ ok: true, branch: 'main' });
    expect([files(), project.git('log', '--format=%s')]).toEqual([['a.txt'], 'The first']);
    expect(await isCommitted(project.folder, 'a.txt')).toBe(true);
  });

  it('works from a subfolder', async () => {
    project.write('deep/er/a.txt', 'a');
    project.write('deep/b.txt', 'b');
    const below = join(project.folder, 'deep');
    expect(await commitPaths(below, ['er/'], 'Deeper')).toMatchObject({ ok: true });
    expect(files()).toEqual(['deep/er/a.txt']);
    expect(await commitPaths(below, ['.'], 'All of it')).toMatchObject({ ok: true });
    expect(files()).toEqual(['deep/b.txt', 'deep/er/a.txt']);
  });

  it('refuses a path behind a link, and commits nothing for it if git knows the link', async () => {
    project.write('real/a.txt', 'a');
    symlinkSync('real', join(project.folder, 'link'));
    expect(await commitPaths(project.folder, ['link/a.txt'], 'Behind')).toEqual({
      ok: false,
      message: expect.stringContaining("pathspec 'link/a.txt' is beyond a symbolic link"),
    });
    expect(staged()).toBe('');
    project.git('add', 'link');
    project.git('commit', '--quiet', '--message=The link alone');
    expect(await commitPaths(project.folder, ['link/a.txt'], 'Behind')).toMatchObject({ ok: true });
    expect([files(), project.git('log', '-1', '--format=%s')]).toEqual([['link'], 'The link alone']);
    expect(await commitPaths(project.folder, ['link', 'link/a.txt', 'real/a.txt'], 'Both')).toMatchObject({ ok: true });
    expect(files()).toEqual(['link', 'real/a.txt']);
  });

  it('removes paths whose folder has become a file', async () => {
    project.write('a/b/c.txt', 'c');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Files');
    project.git('rm', '-r', '--quiet', '--cached', 'a');
    rmSync(join(project.folder, 'a'), { recursive: true });
    project.write('a', 'a file');
    expect(await commitPaths(project.folder, ['a/b/c.txt'], 'Gone')).toMatchObject({ ok: true });
    expect(project.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('');
  });
});

describe('the index after a commit that failed', () => {
  /** What a user sees of the index. */
  const index = () => [project.git('status', '--porcelain'), project.git('ls-files', '--stage')];
  /** Two files that are committed, and a hook that refuses every later commit. */
  const refusing = () => {
    for (const name of ['a.txt', 'b.txt']) project.write(name, 'base');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=base');
    project.write('.git/hooks/pre-commit', '#!/bin/sh\nexit 1\n');
    chmodSync(join(project.folder, '.git/hooks/pre-commit'), 0o755);
  };
  const fails = async (message: string, ...paths: string[]) => {
    const before = index();
    const commit = await commitPaths(project.folder, paths, 'Complete it');
    expect(commit).toEqual({ ok: false, message: expect.stringContaining(message) });
    expect(index()).toEqual(before);
  };

  it('still says that a merge has conflicts, so that it cannot be finished without the other side', async () => {
    project.write('a.txt', 'base');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=base');
    project.git('switch', '--quiet', '--create', 'other');
    project.write('a.txt', 'other');
    project.git('commit', '--quiet', '--all', '--message=other');
    project.git('switch', '--quiet', '-');
    project.write('a.txt', 'ours');
    project.git('commit', '--quiet', '--all', '--message=ours');
    expect(() => project.git('merge', 'other')).toThrow();
    project.write('a.txt', 'agent');
    await fails('cannot do a partial commit during a merge', 'a.txt');
    expect(project.git('ls-files', '--unmerged')).toContain('a.txt');
  });

  it('holds what a user has staged, also a file that is to be removed from it', async () => {
    refusing();
    project.write('a.txt', 'staged');
    project.git('add', 'a.txt');
    project.git('rm', '--quiet', '--cached', 'b.txt');
    project.write('a.txt', 'agent');
    project.write('new.txt', 'new');
    await fails('git commit failed', 'a.txt', 'new.txt');
  });

  it('keeps what someone else has staged meanwhile', async () => {
    refusing();
    project.write('a.txt', 'agent');
    project.write('b.txt', 'theirs');
    // While a commit runs, its lock keeps others out; they come right before it.
    gitThat('case "$*" in *commit*) "$GIT" add b.txt;; esac\nexec "$GIT" "$@"');
    expect((await commitPaths(project.folder, ['a.txt'], 'Complete it')).ok).toBe(false);
    expect(staged()).toBe('b.txt');
  });

  it('is empty if it was', async () => {
    const fresh = temporaryFolder();
    await git(fresh, ['init', '--quiet']);
    writeFileSync(join(fresh, 'a.txt'), 'a');
    writeFileSync(join(fresh, '.git/hooks/pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect((await commitPaths(fresh, ['a.txt'], 'Complete it')).ok).toBe(false);
    expect(await git(fresh, ['status', '--porcelain'])).toBe('?? a.txt');
  });
});
