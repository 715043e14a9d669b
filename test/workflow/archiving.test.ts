import { chmodSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { archiveItem } from '../../src/workflow/run/filing.ts';
import { TestBacklog } from '../support/backlog.ts';

let backlog: TestBacklog;
let folder: string;
beforeEach(() => {
  backlog = new TestBacklog();
  folder = backlog.bug(1);
  backlog.write('bugs/bugs.md', '| ID | Status | Folder |\n|---|---|---|\n| BUG-001 | new | bugs/BUG-001-bug-1 |\n');
  backlog.write('src/a.ts', '1\n');
});
const target = 'completed/BUG-001-bug-1';
const archive = (changed: readonly string[] = []) => archiveItem(backlog.folder, folder, changed);
const done = { ok: true, created: [] };

describe('W-1: an item is archived', () => {
  it('moved, marked and listed, also after a call that was interrupted between these', async () => {
    mkdirSync(join(backlog.folder, 'completed'));
    renameSync(join(backlog.folder, folder), join(backlog.folder, target));
    expect(await archive()).toEqual(done);
    expect(backlog.json(`${target}/bug_report.json`)).toMatchObject({ status: 'completed' });
    expect(backlog.read('bugs/bugs.md')).toContain(`| BUG-001 | completed | ${target} |`);
    const [report, summary] = [backlog.read(`${target}/bug_report.json`), backlog.read('bugs/bugs.md')];
    const listed = `| BUG-001 | new | ${folder} |`;
    for (const left of [summary, summary.replace(`| BUG-001 | completed | ${target} |`, listed)]) {
      backlog.write('bugs/bugs.md', left);
      expect(await archive()).toEqual(done);
      expect([backlog.read(`${target}/bug_report.json`), backlog.read('bugs/bugs.md')]).toEqual([report, summary]);
    }
  });

  it('and committed, also if only its commit is missing and it has no report', async () => {
    rmSync(join(backlog.folder, folder, 'bug_report.json'));
    backlog.autoCommit();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    mkdirSync(join(backlog.folder, 'completed'));
    renameSync(join(backlog.folder, folder), join(backlog.folder, target));
    expect(await archiveItem(backlog.folder, target, [])).toEqual(done);
    expect(backlog.git('status', '--short')).toBe('');
    expect(backlog.git('ls-tree', '-r', '--name-only', 'HEAD')).not.toContain(folder);
  });

  it('but not over another item, nor if it is gone', async () => {
    backlog.write(`${target}/note.txt`, 'mine');
    expect(await archive()).toEqual({ ok: false, message: `${target} and ${folder} both exist` });
    expect([backlog.has(`${folder}/bug_report.json`), backlog.list(target)]).toEqual([true, ['note.txt']]);
    expect(await archiveItem(backlog.folder, 'bugs/BUG-002-x', [])).toEqual({
      ok: false,
      message: 'bugs/BUG-002-x is gone',
    });
  });

  it('with auto_commit, in one commit with what was changed for it', async () => {
    backlog.autoCommit();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    backlog.write('src/a.ts', '2\n');
    backlog.write('src/b.ts', 'not of the item\n');
    expect(await archive(['src/a.ts'])).toEqual(done);
    const committed = backlog.git('show', '--name-status', '--no-renames', '--format=%s', 'HEAD').split('\n');
    expect(committed.filter((line) => line !== '').toSorted()).toEqual([
      `A\t${target}/PROMPT.md`,
      `A\t${target}/bug_report.json`,
      'Complete BUG-001',
      `D\t${folder}/PROMPT.md`,
      `D\t${folder}/bug_report.json`,
      'M\tbugs/bugs.md',
      'M\tsrc/a.ts',
    ]);
  });
});

describe('W-1: a failed commit leaves the item unchanged', () => {
  const state = () => [
    backlog.list('completed'),
    backlog.list('bugs'),
    backlog.read('bugs/bugs.md'),
    backlog.git('diff', '--cached', '--name-only'),
  ];
  beforeEach(() => {
    backlog.autoCommit();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    backlog.write('src/a.ts', '2\n');
  });

  it.each([
    [[], ''],
    [['src/a.ts', 'src/b.ts'], ' What was changed is left as it is: src/a.ts, src/b.ts.'],
  ])('and the error names what was changed: %j', async (changed, said) => {
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho no\nexit 1\n');
    chmodSync(join(backlog.folder, '.git/hooks/pre-commit'), 0o755);
    const before = [backlog.read(`${folder}/bug_report.json`), ...state()];
    expect(await archive(changed)).toEqual({
      ok: false,
      message: `BUG-001 is done, but could not be committed: git commit failed: no.${said}`,
    });
    expect([backlog.read(`${folder}/bug_report.json`), ...state()]).toEqual(before);
    expect(backlog.read('src/a.ts')).toBe('2\n');
  });

  it('also if it had been moved before, or if the index is locked', async () => {
    mkdirSync(join(backlog.folder, 'completed'));
    renameSync(join(backlog.folder, folder), join(backlog.folder, target));
    const before = [backlog.read(`${target}/bug_report.json`), ...state()];
    backlog.lockIndex();
    const outcome = await archive();
    expect(outcome).toMatchObject({
      ok: false,
      message: expect.stringMatching(/index\.lock(?!.*may still be staged)/s),
    });
    expect([backlog.read(`${target}/bug_report.json`), ...state()]).toEqual(before);
  });

  it('or stays open as it was, if it could not be archived half way', async () => {
    backlog.autoCommit();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    backlog.write('src/a.ts', '2\n');
    const summary = backlog.read('bugs/bugs.md');
    const report = backlog.read(`${folder}/bug_report.json`);
    rmSync(join(backlog.folder, 'bugs/bugs.md'));
    mkdirSync(join(backlog.folder, 'bugs/bugs.md'));
    expect(await archive(['src/a.ts'])).toEqual({
      ok: false,
      message: expect.stringMatching(
        /^BUG-001 is done, but could not be archived: EISDIR.*\. What was changed is left as it is: src\/a\.ts\.$/,
      ),
    });
    expect([backlog.read(`${folder}/bug_report.json`), backlog.has(target)]).toEqual([report, false]);
    rmdirSync(join(backlog.folder, 'bugs/bugs.md'));
    backlog.write('bugs/bugs.md', summary);
    expect(await archive(['src/a.ts'])).toEqual(done);
    expect(backlog.git('status', '--short')).toBe('');
  });

  it('and names the first of very many files that it could not commit', async () => {
    backlog.autoCommit();
    const changed = Array.from({ length: 1_000 }, (_, index) => `src/${index}.ts`);
    for (const path of changed) backlog.write(path, '1\n');
    backlog.lockIndex();
    const outcome = await archive(changed);
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining('src/19.ts and 980 more.') });
    expect(JSON.stringify(outcome).length).toBeLessThan(2_000);
  });
});
