import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BacklogItem, readBacklog } from '../../src/workflow/backlog/backlog.ts';
import { InProgress } from '../../src/workflow/run/places/in-progress.ts';
import { TestBacklog } from '../support/backlog.ts';

const stored = 'agent_runs/in-progress.json';
const itemOf = (backlog: TestBacklog, id: string): BacklogItem => {
  const item = readBacklog(backlog.folder).items.find((one) => one.id === id);
  if (item === undefined) throw new Error(`no item ${id}`);
  return item;
};

describe('W-1: marks on items in progress', () => {
  it('are taken away one by one, and their list with the last', async () => {
    const backlog = new TestBacklog();
    const folders = [1, 2].map((number) => backlog.bug(number));
    const before = folders.map((folder) => backlog.read(`${folder}/bug_report.json`));
    const marks = new InProgress(backlog.folder);
    for (const id of ['BUG-001', 'BUG-002']) await marks.begin(itemOf(backlog, id));
    const statuses = () => folders.map((folder) => backlog.json(`${folder}/bug_report.json`).status);
    const kept = () => JSON.parse(backlog.read(stored)).map(({ item }: { item: string }) => item);
    expect([statuses(), kept()]).toEqual([
      ['in_progress', 'in_progress'],
      ['BUG-001', 'BUG-002'],
    ]);
    await marks.end('BUG-003');
    await marks.end('BUG-002');
    expect([statuses(), kept()]).toEqual([['in_progress', 'new'], ['BUG-001']]);
    await marks.end('BUG-001');
    await marks.end('BUG-001');
    expect(backlog.has(stored)).toBe(false);
    expect(folders.map((folder) => backlog.read(`${folder}/bug_report.json`))).toEqual(before);
  });

  it('follow an item whose folder was renamed, and are dropped with a file that is gone', async () => {
    const backlog = new TestBacklog();
    const [first = '', second = ''] = [1, 2].map((number) => backlog.bug(number));
    const marks = new InProgress(backlog.folder);
    for (const id of ['BUG-001', 'BUG-002']) await marks.begin(itemOf(backlog, id));
    renameSync(join(backlog.folder, first), join(backlog.folder, 'bugs/BUG-001-another-name'));
    rmSync(join(backlog.folder, second), { recursive: true });
    for (const id of ['BUG-001', 'BUG-002']) await marks.end(id);
    expect(backlog.json('bugs/BUG-001-another-name/bug_report.json').status).toBe('new');
    expect([backlog.has(first), backlog.has(second), backlog.has(stored)]).toEqual([false, false, false]);
  });
});

describe('W-1: marking an item', () => {
  it.each<[string, string, string | null]>([
    ['a status that is no text', '{ "status": 5 }', null],
    ['a status of something else before its own', '{ "of": { "status": "new" }, "status": "new" }', null],
    ['no object', '["status", "new"]', null],
    ['no JSON', '{ "status": "new"', null],
    ['no status', '{ "title": "One" }', null],
    ['a status', '{"status" :"new"}', '{"status" :"in_progress"}'],
  ])('a report is marked only if it can be restored: %s', async (_, text, marked) => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1);
    backlog.write(`${folder}/PROMPT.md`, '# BUG-001\n\n**Status**: new\n');
    const item = itemOf(backlog, 'BUG-001');
    backlog.write(`${folder}/bug_report.json`, text);
    const marks = new InProgress(backlog.folder);
    await marks.begin(item);
    expect(backlog.read(`${folder}/bug_report.json`)).toBe(marked ?? text);
    // If there is a report file, PROMPT.md is not used, even if the report has no status.
    expect([backlog.read(`${folder}/PROMPT.md`), backlog.has(stored)]).toEqual([
      '# BUG-001\n\n**Status**: new\n',
      marked !== null,
    ]);
    await marks.end('BUG-001');
    expect([backlog.read(`${folder}/bug_report.json`), backlog.has(stored)]).toEqual([text, false]);
  });

  it('removing a mark keeps what the agent wrote in PROMPT.md', async () => {
    const backlog = new TestBacklog();
    const path = 'features/FEAT-001-x/PROMPT.md';
    backlog.write(path, '# FEAT-001: One\n\n**Status**: new\n');
    const marks = new InProgress(backlog.folder);
    await marks.begin(itemOf(backlog, 'FEAT-001'));
    backlog.write(path, `${backlog.read(path)}\nFound the cause.\n`);
    await marks.end('FEAT-001');
    expect(backlog.read(path)).toBe('# FEAT-001: One\n\n**Status**: new\n\nFound the cause.\n');
    await marks.begin(itemOf(backlog, 'FEAT-001'));
    backlog.write(path, '# FEAT-001: One\n\n**Status**: deferred\n');
    await marks.end('FEAT-001');
    expect(backlog.read(path)).toBe('# FEAT-001: One\n\n**Status**: deferred\n');
  });
});

describe('W-4: the marks of a process that died', () => {
  const marked = '{"status":"in_progress"}';
  const mark = (file: string) => ({ item: 'BUG-001', file, before: '{"status":"new"}', marked });

  it('are taken away, also the single one that earlier versions kept', async () => {
    const backlog = new TestBacklog();
    const path = `${backlog.bug(1)}/bug_report.json`;
    for (const kept of [mark(path), [mark(path)]]) {
      backlog.write(path, marked);
      backlog.write(stored, JSON.stringify(kept));
      await new InProgress(backlog.folder).endAll();
      expect([backlog.read(path), backlog.has(stored)]).toEqual(['{"status":"new"}', false]);
    }
  });

  it.each(['{', '5', '[{"item":"BUG-001"}]', 'null'])('are ignored if they cannot be read: %s', async (text) => {
    const backlog = new TestBacklog();
    backlog.write(stored, text);
    await new InProgress(backlog.folder).endAll();
    expect(backlog.has(stored)).toBe(false);
  });

  it('change only files that hold the status of an item', async () => {
    const backlog = new TestBacklog();
    const files = [
      'agents/x/bug_report.json',
      'completed/bugs/bug_report.json',
      'bugs/BUG-009-x/other.json',
      'bugs/BUG-009-x/feature_request.json',
      'bugs/BUG-009-x/y/bug_report.json',
    ];
    for (const file of files) backlog.write(file, marked);
    for (const file of files) {
      backlog.write(stored, JSON.stringify([mark(file)]));
      await new InProgress(backlog.folder).endAll();
    }
    expect(files.map((file) => backlog.read(file))).toEqual(files.map(() => marked));
  });

  it('do not lead out of the backlog', async () => {
    const backlog = new TestBacklog();
    const outside = new TestBacklog();
    outside.write('bug_report.json', marked);
    backlog.write('bugs/bugs.md', '# Bugs\n');
    symlinkSync(outside.folder, join(backlog.folder, 'bugs/BUG-007-link'));
    backlog.write(stored, JSON.stringify([{ ...mark('bugs/BUG-007-link/bug_report.json'), item: 'BUG-007' }]));
    await new InProgress(backlog.folder).endAll();
    expect(outside.read('bug_report.json')).toBe(marked);
  });
});
