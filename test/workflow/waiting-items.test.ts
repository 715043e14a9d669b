import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  backlogFolder,
  folderOf,
  idOf,
  numberOf,
  plainId,
  readBacklog,
  refOf,
  stopMarkers,
} from '../../src/workflow/backlog/backlog.ts';
import { layoutOf } from '../../src/workflow/backlog/item-kinds.ts';
import { cyclesIn } from '../../src/workflow/backlog/reading/cycles.ts';
import { TestBacklog } from '../support/backlog.ts';
import { errorOf, temporaryFolder } from '../support/temporary.ts';

describe('W-1: what a backlog holds', () => {
  let backlog: TestBacklog;
  beforeEach(() => {
    backlog = new TestBacklog();
  });
  const read = () => readBacklog(backlog.folder);
  /** What each open item waits for, and why. */
  const waiting = () =>
    Object.fromEntries(read().items.map(({ id, blocked, waitsFor, why }) => [id, [blocked, waitsFor, why]]));

  it('its items are in order: by priority, then by who asked, kind and number', () => {
    backlog.feature(2);
    backlog.bug(10);
    backlog.bug(9, { fingerprint: 'f' });
    backlog.feature(3, { priority: 'P0' });
    backlog.bug(2);
    backlog.bug(4, { priority: 'P3' });
    backlog.feature(1, { fingerprint: 'f' });
    expect(read().items.map(({ id }) => id)).toEqual([
      ...['FEAT-003', 'BUG-002', 'BUG-010', 'FEAT-001', 'FEAT-002', 'BUG-009', 'BUG-004'],
    ]);
  });

  it('each has what its report says, or its folder', () => {
    const folder = backlog.bug(1, { title: undefined, priority: 'P0', component: 'ui' }, 'Said.\n');
    const [item] = read().items;
    expect(item).toMatchObject({ title: 'bug-1', comments: 'Said.\n', report: { component: 'ui' } });
    expect(item && refOf(item)).toEqual({
      id: 'BUG-001',
      kind: 'bug',
      title: 'bug-1',
      priority: 'P0',
      component: 'ui',
      createdAt: '2026-01-01',
      blocked: false,
      folder,
    });
  });

  it('finished items are not open, and folders that are no items are left alone', () => {
    backlog.bug(1, { status: 'completed' });
    backlog.bug(2);
    backlog.write('bugs/notes/a.md', 'x');
    backlog.write('bugs/bugs.md', '# Bugs\n');
    const { items, done, unreadable } = read();
    expect([items.map(({ id }) => id), done.map(({ id }) => id), unreadable]).toEqual([['BUG-002'], ['BUG-001'], []]);
  });

  it('an id that two folders share, and a link out of the backlog, are reported', () => {
    backlog.bug(1);
    backlog.write('bugs/BUG-001-again/bug_report.json', '{}');
    backlog.write('completed/BUG-003-old/bug_report.json', '{}');
    backlog.bug(3);
    const outside = temporaryFolder();
    symlinkSync(outside, join(backlog.folder, 'features'));
    expect(read().unreadable).toEqual([
      { folder: 'bugs/BUG-001-bug-1', problem: 'bugs/BUG-001-again shares the id BUG-001' },
      { folder: 'bugs/BUG-003-bug-3', problem: 'completed/BUG-003-old shares the id BUG-003' },
      { folder: 'features', problem: expect.stringContaining('features') },
    ]);
  });

  it('an item waits for what blocks it, what it depends on, and what says that it is held up', () => {
    backlog.bug(1, { blocked_by: 'bug-2, a licence' });
    backlog.bug(2, { blocks: ['FEAT-003'] });
    backlog.feature(3, { depends_on: ['BUG-1'] });
    expect(waiting()).toMatchObject({
      'BUG-001': [true, ['BUG-002', 'a licence'], 'waits for BUG-002, a licence'],
      'BUG-002': [false, [], expect.not.stringContaining('waits')],
      'FEAT-003': [true, ['BUG-001', 'BUG-002'], 'waits for BUG-001, BUG-002'],
    });
  });

  it('what is finished, and the item itself, holds nothing up', () => {
    backlog.write('completed/BUG-009-old/bug_report.json', '{}');
    backlog.bug(8, { status: 'fixed' });
    backlog.bug(1, { blocked_by: ['BUG-9', 'BUG-8', 'bug-1'], depends_on: ['BUG-009', 'bug-8', 'BUG-001'] });
    expect(waiting()['BUG-001']).toEqual([false, [], expect.any(String)]);
  });

  it.each<[unknown, string[]]>([
    [null, []],
    [false, []],
    ['', []],
    [' , ', []],
    [{ id: 'BUG-002' }, ['BUG-002']],
    [
      ['BUG-2', { id: 'bug-002' }, 'x'],
      ['BUG-002', 'x'],
    ],
    [7, ['7']],
    ['BUG-2 waits for legal', ['BUG-2 waits for legal']],
    ['BUG-001: the vendor must confirm', ['BUG-001: the vendor must confirm']],
  ])('`blocked_by` may be %j', (blockedBy, waitsFor) => {
    backlog.bug(1, { blocked_by: blockedBy });
    backlog.bug(2);
    expect(waiting()['BUG-001']).toEqual([waitsFor.length > 0, waitsFor, expect.any(String)]);
  });

  it('without names, its status or its field `blocked` decides', () => {
    backlog.bug(1, { status: 'blocked' });
    backlog.bug(2, { blocked: true });
    backlog.bug(3, { blocked: true, blocked_by: [] });
    backlog.bug(4, { status: 'blocked', blocked_by: ['BUG-999'] });
    backlog.bug(5, { blocked: 'yes' });
    expect(Object.entries(waiting()).map(([id, [blocked]]) => [id, blocked])).toEqual([
      ['BUG-001', true],
      ['BUG-002', true],
      ['BUG-003', true],
      ['BUG-004', true],
      ['BUG-005', false],
    ]);
    expect(waiting()['BUG-002']?.[2]).toBe('blocked in bug_report.json');
  });

  it('what is for a person says so', () => {
    backlog.write('human-actions/ACTION-001-buy/action_report.json', JSON.stringify({ title: 'Buy', status: 'open' }));
    expect(waiting()['ACTION-001']?.[2]).toMatch(/^for a person, /);
  });

  it('a dependency that is not there is noted once, unless a person named it as a blocker', () => {
    backlog.bug(1, { depends_on: ['BUG-77', 'bug-077', 'BUG-88'], blocked_by: ['BUG-88'] });
    expect(read().notes).toEqual(['BUG-001 depends on BUG-77, which is not in the backlog']);
  });

  it('items that wait for each other are noted, each circle once, however they name each other', () => {
    backlog.bug(1, { blocked_by: 'bug-2' });
    backlog.bug(2, { depends_on: ['BUG-3'] });
    backlog.bug(3, { blocked_by: ['BUG-001'] });
    backlog.bug(4, { blocked_by: 'BUG-1' });
    backlog.bug(5, { blocked_by: 'BUG-6' });
    backlog.bug(6, { blocked_by: 'BUG-5' });
    expect(read().notes).toEqual([
      'BUG-001 waits for BUG-002 waits for BUG-003 waits for BUG-001: none of them can be taken',
      'BUG-005 waits for BUG-006 waits for BUG-005: none of them can be taken',
    ]);
  });

  it('a chain or a circle of items may be longer than the stack, and its note is short', () => {
    const last = 20_000;
    const chain = Array.from({ length: last }, (_, index) => ({ id: `BUG-${index}`, waitsFor: [`BUG-${index + 1}`] }));
    expect(cyclesIn(chain)).toEqual([]);
    expect(cyclesIn([...chain, { id: `BUG-${last}`, waitsFor: ['BUG-0'] }])).toEqual([
      expect.stringMatching(/^BUG-0 waits for .* waits for BUG-19 and 19982 more: none of them can be taken$/),
    ]);
  });

  it('a STOP stands in the comments of an item, of the run or of the backlog', () => {
    backlog.bug(1, { component: 'ui' }, 'STOP: look at it\n');
    backlog.bug(2, {}, 'Nothing.\n');
    backlog.write('agent_runs/r1/comments.md', 'STOP\n');
    backlog.write('agent_runs/r2/comments.md', 'STOP\n');
    expect(stopMarkers(backlog.folder, 'r1', read().items)).toMatchObject([
      { file: 'agent_runs/r1/comments.md', item: null, request: '', component: null },
      { file: 'bugs/BUG-001-bug-1/comments.md', item: 'BUG-001', request: 'look at it', component: 'ui' },
    ]);
  });

  it('an item is found wherever it is', () => {
    backlog.bug(1);
    backlog.write('deprecated/FEAT-002-old/x', '');
    expect(['BUG-001', 'FEAT-002', 'BUG-002', 'BUG-1'].map((id) => folderOf(backlog.folder, id))).toEqual([
      'bugs/BUG-001-bug-1',
      'deprecated/FEAT-002-old',
      null,
      null,
    ]);
  });

  it('normalizes ids', () => {
    expect([idOf('bug-007-short'), idOf('notes'), plainId('bug-007'), plainId('BUG-7x'), plainId('x')]).toEqual([
      ...['BUG-007', 'NOTES', 'BUG-7', 'BUG-7', 'X'],
    ]);
    expect([numberOf('BUG-012'), numberOf('x')]).toEqual([12, 0]);
  });

  it('kinds are known by either name', () => {
    expect([layoutOf('human-action').prefix, layoutOf('human_action').prefix, layoutOf('bug').idField]).toEqual([
      ...['ACTION', 'ACTION', 'bug_id'],
    ]);
    expect(errorOf(() => layoutOf('epic' as never))).toMatchObject({ message: 'unknown kind epic' });
  });

  it('a backlog must be an existing folder', () => {
    expect(backlogFolder(`${backlog.folder}/`)).toBe(backlog.folder);
    backlog.write('file', '');
    const refused = (given: unknown) => (errorOf(() => backlogFolder(given)) as Error).message;
    expect(refused(join(backlog.folder, 'file'))).toContain('(it is not a folder).');
    expect(refused(join(backlog.folder, 'missing'))).toContain('(it does not exist).');
    expect(refused(undefined)).toBe('`backlog` is required: the path of a folder.');
    for (const none of [7, '', ' ']) expect(refused(none)).toContain('`backlog` must be the path of a folder');
  });
});
