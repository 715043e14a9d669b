import { appendFileSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readBacklog, stopMarkers } from '../../src/workflow/backlog/backlog.ts';
import { itemText } from '../../src/workflow/backlog/reading/item-text.ts';
import { KnownItems } from '../../src/workflow/backlog/reading/known-items.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

/** A folder that no backlog may lead to. */
function elsewhere(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-elsewhere-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'PROMPT.md'), '# BUG-009: Not yours\n');
  writeFileSync(join(folder, 'secret.md'), 'STOP: the secret\n');
  return folder;
}

describe('links in a backlog never lead outside', () => {
  it('a folder, a file and a kind of items that do are unreadable, and left alone', async () => {
    const outside = elsewhere();
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(3);
    symlinkSync(outside, join(backlog.folder, 'bugs/BUG-002-linked'));
    symlinkSync(join(outside, 'secret.md'), join(backlog.folder, 'bugs/BUG-003-bug-3/comments.md'));
    symlinkSync(outside, join(backlog.folder, 'features'));
    const { result, report } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(report).not.toContain('the secret');
    for (const path of ['bugs/BUG-002-linked', 'bugs/BUG-003-bug-3/comments.md', 'features'])
      expect(report).toContain(`${path} is a link that leads outside the backlog`);
  });

  it('one that stays inside is followed', () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('notes/shared.md', 'STOP: rest\n');
    symlinkSync(join(backlog.folder, 'notes/shared.md'), join(backlog.folder, 'bugs/BUG-001-bug-1/comments.md'));
    const { items } = readBacklog(backlog.folder);
    expect(stopMarkers(backlog.folder, '', items)).toMatchObject([{ request: 'rest', item: 'BUG-001' }]);
  });

  it('nothing is archived into a folder outside', async () => {
    const outside = elsewhere();
    const backlog = new TestBacklog();
    backlog.bug(1);
    symlinkSync(outside, join(backlog.folder, 'completed'));
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.incidents).toMatchObject([
      { kind: 'critical_error', phase: 'archiving', message: expect.stringContaining('leads outside the backlog') },
    ]);
    expect(backlog.has('bugs/BUG-001-bug-1/PROMPT.md')).toBe(true);
  });
});

describe('texts are bounded', () => {
  it('of 100 MB of comments, the beginning and the end are read', () => {
    const backlog = new TestBacklog();
    const path = `${backlog.bug(1, {}, '# Comments\n')}/comments.md`;
    truncateSync(join(backlog.folder, path), 100_000_000);
    appendFileSync(join(backlog.folder, path), '\nSTOP: at the end\n');
    const { items } = readBacklog(backlog.folder);
    expect(items[0]?.comments.length).toBeLessThan(1_001_000);
    expect(items[0]?.comments).toMatch(/^# Comments\n/);
    expect(stopMarkers(backlog.folder, '', items)).toMatchObject([{ request: 'at the end' }]);
    expect(itemText(backlog.folder, path, 1_000)).toContain('[99999');
  });

  it('a report file that is too long makes its item unreadable', () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { padding: 'x'.repeat(1_000_000) });
    expect(readBacklog(backlog.folder).unreadable).toMatchObject([
      { folder: 'bugs/BUG-001-bug-1', problem: expect.stringContaining('has more than 1000000 bytes') },
    ]);
  });

  it('an agent is given at most the ends of a file', async () => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1);
    backlog.write(`${folder}/PLAN.md`, `begin ${'x'.repeat(300_000)} end`);
    let prompt = '';
    await runOver(backlog, {
      process: (task) => {
        prompt = task.prompt;
        return { status: 'succeeded' };
      },
    });
    expect(prompt.length).toBeLessThan(110_000);
    expect(prompt).toMatch(/begin x+\n\n\[200010 bytes left out\]\n\nx+ end/);
  });
});

describe('what was read is not read again', () => {
  it('until it changes, in any of its files or in the summary', () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { title: 'One' });
    backlog.bug(2, { title: 'Two' });
    const known = new KnownItems<never>();
    let reads = 0;
    const titles = () =>
      readBacklog(backlog.folder, {
        of: (folder: string, item: string, files: string[], also: string, read: () => never) =>
          known.of(folder, item, files, also, () => {
            reads += 1;
            return read();
          }),
      } as never).items.map(({ id, title, status }) => `${id} ${title} ${status}`);
    expect(titles()).toEqual(['BUG-001 One new', 'BUG-002 Two new']);
    expect(titles()).toEqual(['BUG-001 One new', 'BUG-002 Two new']);
    expect(reads).toBe(2);
    backlog.bug(2, { title: 'Too' });
    expect(titles()).toEqual(['BUG-001 One new', 'BUG-002 Too new']);
    expect(reads).toBe(3);
    backlog.write('bugs/BUG-001-bug-1/comments.md', 'x');
    utimesSync(join(backlog.folder, 'bugs/BUG-001-bug-1/PROMPT.md'), 1, 1);
    titles();
    expect(reads).toBe(4);
    backlog.write('bugs/bugs.md', '| ID | Title | Status |\n|---|---|---|\n| BUG-001 | One | blocked |\n');
    expect(titles()).toEqual(['BUG-002 Too new', 'BUG-001 One blocked'].toSorted());
    expect(reads).toBe(5);
  });

  it('a STOP that comes into any item while another is worked on ends the run', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const { result } = await runOver(backlog, {
      process: ({ item }) => {
        if (item.id === 'BUG-001') backlog.write('bugs/BUG-003-bug-3/comments.md', 'STOP: enough\n');
        return { status: 'succeeded' };
      },
    });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: ['BUG-001'], incidents: [{ kind: 'stop' }] });
  });
});
