import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { archiveItem, leaveForReview } from '../../src/workflow/run/filing.ts';
import { TestBacklog } from '../support/backlog.ts';

let backlog: TestBacklog;
beforeEach(() => {
  backlog = new TestBacklog();
});

const recent = expect.stringMatching(/^20\d\d-.*Z$/);

describe('W-1: an item that succeeded is archived', () => {
  const archived = (folder: string, changed: readonly string[] = []) => archiveItem(backlog.folder, folder, changed);

  it('with its report, its row and one commit of all that, and of what the work changed', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1, { severity: 'high' });
    backlog.listBug();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    backlog.write('src/code.ts', 'fixed\n');
    backlog.write('unrelated.txt', 'mine\n');
    expect(await archived(folder, ['src/code.ts'])).toEqual({ ok: true, created: [] });
    expect([backlog.list('bugs'), backlog.list('completed')]).toEqual([['bugs.md'], ['BUG-001-bug-1']]);
    expect(backlog.json('completed/BUG-001-bug-1/bug_report.json')).toMatchObject({
      severity: 'high',
      status: 'completed',
      completed_date: recent,
      updated_date: recent,
    });
    expect(backlog.read('bugs/bugs.md')).toContain('| completed |');
    expect(backlog.lastCommit.message).toBe('Complete BUG-001');
    expect(backlog.lastCommit.files).toEqual([
      'bugs/BUG-001-bug-1/PROMPT.md',
      'bugs/BUG-001-bug-1/bug_report.json',
      'bugs/bugs.md',
      'completed/BUG-001-bug-1/PROMPT.md',
      'completed/BUG-001-bug-1/bug_report.json',
      'src/code.ts',
    ]);
    expect(backlog.git('status', '--porcelain')).toBe('?? unrelated.txt');
  });

  it('once more, after a crash between the move and the commit', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1);
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    mkdirSync(join(backlog.folder, 'completed'));
    backlog.git('mv', folder, 'completed/BUG-001-bug-1');
    expect(await archived(folder)).toEqual({ ok: true, created: [] });
    expect(backlog.json('completed/BUG-001-bug-1/bug_report.json').status).toBe('completed');
    expect(backlog.git('status', '--porcelain')).toBe('');
    const before = backlog.git('rev-parse', 'HEAD');
    expect(await archived('completed/BUG-001-bug-1')).toEqual({ ok: true, created: [] });
    expect(backlog.git('rev-parse', 'HEAD')).toBe(before);
  });

  it('a date of completion, and a status that means it, are kept', async () => {
    const folder = backlog.feature(1, { status: 'Done', completed_date: '2026-01-05' });
    const before = backlog.read(`${folder}/feature_request.json`);
    await archived(folder);
    expect(backlog.read('completed/FEAT-001-feature-1/feature_request.json')).toBe(before);
  });

  it.each([
    ['another status', { status: 'new', completed_date: '2026-01-05' }],
    ['no date', { status: 'done' }],
    ['an empty date', { status: 'done', completed_date: '' }],
    ['a date that is null', { status: 'done', completed_date: null }],
    ['a status that is no text', { status: 7, completed_date: '2026-01-05' }],
  ])('%s does not mark completion', async (_, report) => {
    await archived(backlog.bug(1, report));
    expect(backlog.json('completed/BUG-001-bug-1/bug_report.json')).toMatchObject({
      status: 'completed',
      completed_date: recent,
    });
  });

  it.each(['{ "title": ', '["a list"]', 'null', '"text"'])('a report file with %s is left as it is', async (text) => {
    const folder = backlog.bug(1);
    backlog.write(`${folder}/bug_report.json`, text);
    expect(await archived(folder)).toEqual({ ok: true, created: [] });
    expect(backlog.read('completed/BUG-001-bug-1/bug_report.json')).toBe(text);
  });

  it('an item without a report file is listed where its folder was', async () => {
    backlog.listBug();
    backlog.write('bugs/BUG-001-bug-1/PROMPT.md', '# One\n');
    await archived('bugs/BUG-001-bug-1');
    expect(backlog.list('completed/BUG-001-bug-1')).toEqual(['PROMPT.md']);
    expect(backlog.read('bugs/bugs.md')).toContain('| completed |');
  });

  it('a folder that is gone, or in both places, stays as it is and is named', async () => {
    expect(await archived('bugs/BUG-001-bug-1')).toEqual({ ok: false, message: 'bugs/BUG-001-bug-1 is gone' });
    const folder = backlog.bug(1);
    backlog.write('completed/BUG-001-bug-1/PROMPT.md', 'Older.\n');
    expect(await archived(folder)).toEqual({
      ok: false,
      message: 'completed/BUG-001-bug-1 and bugs/BUG-001-bug-1 both exist',
    });
    expect([backlog.has(folder), backlog.read('completed/BUG-001-bug-1/PROMPT.md')]).toEqual([true, 'Older.\n']);
  });

  it('a folder `completed` that leads out of the backlog is refused', async () => {
    const other = new TestBacklog();
    symlinkSync(other.folder, join(backlog.folder, 'completed'));
    const folder = backlog.bug(1);
    await expect(archived(folder)).rejects.toThrow('completed');
    expect([backlog.has(folder), other.list('.')]).toEqual([true, ['.git']]);
  });

  it('a commit that fails is reported, and leaves the item open, as it was', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1);
    backlog.listBug();
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    backlog.write('code.ts', 'fixed');
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho not now >&2\nexit 1\n');
    chmodSync(join(backlog.folder, '.git/hooks/pre-commit'), 0o755);
    expect(await archived(folder, ['code.ts'])).toEqual({
      ok: false,
      message:
        'BUG-001 is done, but could not be committed: git commit failed: not now. What was changed is left as it is: code.ts.',
    });
    expect(backlog.list('completed')).toEqual([]);
    expect(backlog.git('status', '--short')).toBe('?? code.ts');
    // A lock of git keeps the files from being staged, and from being taken out again.
    backlog.lockIndex();
    expect(await archived(folder)).toEqual({
      ok: false,
      message: expect.stringMatching(/index\.lock(?!.*may still be staged)/s),
    });
    rmSync(join(backlog.folder, '.git/index.lock'));
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\n');
    expect(await archived(folder, ['code.ts'])).toEqual({ ok: true, created: [] });
    expect(backlog.git('status', '--short')).toBe('');
  });

  it('its report keeps every number as it was written; one that is not UTF-8 stays as it is', async () => {
    const folder = backlog.bug(1);
    const text = '{"title":"A","status":"new","tracker_id":9223372036854775807,"version":1.0,"count":1e3}';
    backlog.write(`${folder}/bug_report.json`, text);
    expect(await archived(folder)).toEqual({ ok: true, created: [] });
    const kept = backlog.read('completed/BUG-001-bug-1/bug_report.json');
    for (const part of ['"tracker_id": 9223372036854775807', '"version": 1.0', '"count": 1e3', '"completed"'])
      expect(kept).toContain(part);
    const other = backlog.bug(2);
    const latin = Buffer.from('{"title":"Gr\u00f6\u00dfe","status":"new"}', 'latin1');
    writeFileSync(join(backlog.folder, other, 'bug_report.json'), latin);
    const rows = Buffer.from(
      '| ID | Title | Status |\n| --- | --- | --- |\n| BUG-002 | Gr\u00f6\u00dfe | new |\n',
      'latin1',
    );
    writeFileSync(join(backlog.folder, 'bugs/bugs.md'), rows);
    expect(await archived(other)).toEqual({ ok: true, created: [] });
    expect(readFileSync(join(backlog.folder, 'completed/BUG-002-bug-2/bug_report.json')).equals(latin)).toBe(true);
    expect(readFileSync(join(backlog.folder, 'bugs/bugs.md')).equals(rows)).toBe(true);
  });
});

describe('W-1: an item that failed in several runs is left for review', () => {
  const left = (id: string) => leaveForReview(backlog.folder, backlog.found(id), ['r1', 'r2']);

  it('its report keeps every number as it was written; one that is not UTF-8 is named, and stays as it is', async () => {
    const folder = backlog.bug(1);
    backlog.write(`${folder}/bug_report.json`, '{"title":"A","status":"new","tracker_id":9223372036854775807}');
    await left('BUG-001');
    expect(backlog.read(`${folder}/bug_report.json`)).toContain('"tracker_id": 9223372036854775807');
    const file = join(backlog.folder, backlog.bug(2), 'bug_report.json');
    const latin = Buffer.from('{"title":"Gr\u00f6\u00dfe","status":"new"}', 'latin1');
    writeFileSync(file, latin);
    await expect(left('BUG-002')).rejects.toThrow('bug_report.json is not UTF-8, so it is not changed');
    expect(readFileSync(file).equals(latin)).toBe(true);
  });

  it('in its report, its row, its comments and a commit', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1, {}, 'Mine.');
    backlog.listBug();
    expect(await left('BUG-001')).toMatchObject({ ok: true });
    expect(backlog.json(`${folder}/bug_report.json`).status).toBe('needs-review');
    expect(backlog.read('bugs/bugs.md')).toContain('| needs-review |');
    expect(backlog.read(`${folder}/comments.md`)).toBe(
      'Mine.\n\n## Left for review\n\nIt failed in 2 runs: r1, r2. Set another status to have it tried again.\n',
    );
    expect(backlog.lastCommit).toEqual({
      message: 'Leave BUG-001 for review',
      files: ['PROMPT.md', 'bug_report.json', 'comments.md']
        .map((name) => `${folder}/${name}`)
        .concat('bugs/bugs.md')
        .toSorted(),
    });
  });

  it('without `auto_commit`, nothing is committed', async () => {
    backlog.bug(1);
    expect(await left('BUG-001')).toBeNull();
    expect(backlog.lastCommit.message).toBe('Begin');
  });
});
