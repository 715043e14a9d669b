import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commitPaths } from '../../src/workflow/git/commits.ts';
import { git } from '../../src/workflow/git/git.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { gitThat } from '../support/fake-git.ts';
import { until } from '../support/journaled.ts';
import { editLine, projectWith, together } from '../support/project.ts';

/** What git has written of a work tree when another command reads it at the worst moment. */
function unfinishedEntry(project: TestBacklog): string {
  const entry = join(project.folder, '.git/worktrees/other');
  mkdirSync(entry, { recursive: true });
  writeFileSync(join(entry, 'gitdir'), '/nowhere/.git\n');
  writeFileSync(join(entry, 'HEAD'), `${project.git('rev-parse', 'HEAD')}\n`);
  writeFileSync(join(entry, 'commondir'), '');
  return entry;
}

/** Returns how often each command of git has ended. */
function countedGit(project: TestBacklog): (command: string) => number {
  const log = join(project.folder, '.git/commands');
  gitThat(`"$GIT" "$@"\ncode=$?\necho "$*" >> ${log}\nexit $code`);
  return (command) => (existsSync(log) ? readFileSync(log, 'utf8').split(` ${command} `).length - 1 : 0);
}

describe('a lock of the index that another git command holds', () => {
  const begun = () => {
    const project = new TestBacklog();
    project.write('a.txt', 'a');
    const lock = join(project.folder, '.git/index.lock');
    writeFileSync(lock, '');
    const runs = countedGit(project);
    return { project, lock, runs, commit: commitPaths(project.folder, ['a.txt'], 'A') };
  };

  it('is waited for', async () => {
    const { project, lock, runs, commit } = begun();
    await until(() => runs('add') === 1);
    rmSync(lock);
    expect(await commit).toMatchObject({ ok: true });
    expect(runs('add')).toBe(2);
    expect(project.git('log', '-1', '--format=%s')).toBe('A');
  });

  it('is not waited for any longer once it is a minute old, and stays', async () => {
    const { lock, runs, commit } = begun();
    await until(() => runs('add') === 1);
    const killed = Date.now() / 1_000 - 61;
    utimesSync(lock, killed, killed);
    expect(await commit).toEqual({ ok: false, message: expect.stringContaining("index.lock': File exists") });
    expect([runs('add'), existsSync(lock)]).toEqual([1, true]);
  });

  it('is waited for a minute at most, whatever its time says', async () => {
    const { lock, runs, commit } = begun();
    const later = Date.now() / 1_000 + 3_600;
    utimesSync(lock, later, later);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await until(() => runs('add') === 1);
    const ended = commit.then(() => true);
    let waitedMs = 0;
    for (let isOver = false; !isOver; waitedMs += 100) {
      isOver = await Promise.race([ended, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]);
      vi.advanceTimersByTime(100);
    }
    expect(waitedMs).toBeGreaterThan(59_000);
    expect(await commit).toEqual({ ok: false, message: expect.stringContaining("index.lock': File exists") });
    expect(runs('add')).toBe(1);
  });

  it('that a hook met, since its own commit held it, is no reason to run the hook again', async () => {
    const project = new TestBacklog();
    project.write('a.txt', 'a');
    const met = join(project.folder, '.git/met');
    const said = `fatal: Unable to create '${join(project.folder, '.git/index.lock')}': File exists.`;
    project.write('.git/hooks/pre-commit', `#!/bin/sh\necho x >> ${met}\necho "${said}" >&2\nexit 1\n`);
    chmodSync(join(project.folder, '.git/hooks/pre-commit'), 0o755);
    expect(await commitPaths(project.folder, ['a.txt'], 'A')).toMatchObject({ ok: false });
    expect(readFileSync(met, 'utf8')).toBe('x\n');
  });

  it('that is back each time is tried five times', async () => {
    const project = new TestBacklog();
    const log = join(project.folder, '.git/commands');
    gitThat(`echo x >> ${log}\necho "fatal: Unable to create '${log}.lock': File exists." >&2\nexit 128`);
    const failed = await git(project.folder, ['write-tree']).catch(({ message }) => message);
    expect(failed).toMatch(/^git write-tree failed: fatal: Unable to create '.*\.lock': File exists\.$/);
    expect(readFileSync(log, 'utf8')).toBe('x\n'.repeat(5));
  });
});

describe('W-1: an entry of a work tree that another command is writing', () => {
  const items = () => {
    const both = together(2);
    const process: WorkFunction = async ({ root, item }) => {
      await both();
      editLine(root, item.id === 'BUG-001' ? 10 : 40, `by ${item.id}`);
      return { status: 'succeeded' };
    };
    return process;
  };

  it('is read again until it is complete', async () => {
    const project = projectWith(2);
    const entry = unfinishedEntry(project);
    const met = join(project.folder, '.git/met');
    gitThat(`"$GIT" "$@"
code=$?
case " $* " in *" worktree "*) [ $code = 128 ] && echo x >> ${met} && [ $(wc -l < ${met}) -ge 4 ] && rm -rf ${entry};; esac
exit $code`);
    const { result } = await runOver(project, { process: items() }, { limits: { concurrency: 2 } });
    expect(existsSync(met)).toBe(true);
    expect(result).toMatchObject({
      status: 'completed',
      succeeded: ['BUG-001', 'BUG-002'],
      failures: [],
      problems: [],
    });
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    const lines = project.read('lines.txt').split('\n');
    expect([lines[10], lines[40]]).toEqual(['by BUG-001', 'by BUG-002']);
  });

  it("ends the run with git's message if it stays incomplete", async () => {
    const project = projectWith(2);
    unfinishedEntry(project);
    const { result, report } = await runOver(project, { process: items() }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ status: 'exitedEarly', iterations: 2, succeeded: [] });
    expect(report).toContain('failed to read .git/worktrees/other/commondir');
  });
});
