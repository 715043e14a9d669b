import { existsSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commitPaths, isCommitted, unstage } from '../../src/workflow/git/commits.ts';
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
    expect(await failed).toBe('git log failed: it took more than 300 s');
    expect(vi.getTimerCount()).toBe(0);
    await until(() => !isRunning(sleeper));
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

describe('unstage', () => {
  it('takes these paths out of the index, and no others', async () => {
    for (const name of ['a.txt', 'b [1].txt', 'c.txt']) project.write(name, name);
    project.git('add', '--all');
    await unstage(project.folder, ['a.txt', 'b [1].txt']);
    expect([staged(), project.read('a.txt')]).toEqual(['c.txt', 'a.txt']);
  });
});
