import { describe, expect, it } from 'vitest';
import { readBacklog } from '../../src/workflow/backlog/backlog.ts';
import { meaningOf } from '../../src/workflow/backlog/reading/statuses.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

/** Reads the one item of a backlog with these files. */
function only(files: Record<string, string>) {
  const backlog = new TestBacklog();
  for (const [path, text] of Object.entries(files)) backlog.write(path, text);
  const { items, done, unreadable, notes } = readBacklog(backlog.folder);
  const [item] = [...items, ...done];
  return { item, isDone: done.length > 0, unreadable, notes };
}

describe('W-1: items as found in the wild', () => {
  it.each<[name: string, files: Record<string, string>, item: object]>([
    [
      'a PROMPT.md alone, with its fields on one line',
      {
        'features/FEAT-130-search/PROMPT.md':
          '# FEAT-130: Search the archive\n\n**Priority**: P1 **Status**: new **Component**: archive\n\nUsers cannot find things.\n\n## Tasks\n\n**Status**: done\n',
      },
      {
        id: 'FEAT-130',
        title: 'Search the archive',
        priority: 'P1',
        component: 'archive',
        status: 'new',
        description: 'Users cannot find things.',
        why: 'new in PROMPT.md',
      },
    ],
    [
      'fields on lines of their own, with the colon inside the bold',
      {
        'bugs/BUG-7-x/PROMPT.md': '# BUG-7 - It breaks\n- **Priority:** High\n- **Status:** In Progress (2026-01-02)\n',
      },
      { title: 'It breaks', priority: 'P1', status: 'In Progress (2026-01-02)', blocked: false },
    ],
    [
      'fields between bars',
      { 'bugs/BUG-7-x/PROMPT.md': '# It breaks\n\n**Priority**: P0 | **Type**: bug | **Component**: core\n' },
      { title: 'It breaks', priority: 'P0', component: 'core', status: null, why: 'no status, so it is open' },
    ],
    [
      'plain fields, and no heading',
      { 'bugs/BUG-7-x/PROMPT.md': 'Priority: critical\nStatus: open\nComponent: core\n\nIt breaks.\n' },
      { title: 'BUG-7-x', priority: 'P0', component: 'core', description: 'It breaks.' },
    ],
    [
      'a report file that leaves out what the prompt says',
      {
        'bugs/BUG-7-x/bug_report.json': '{"status": "new", "priority": "P2"}',
        'bugs/BUG-7-x/PROMPT.md': '# BUG-7: It breaks\n\n**Priority**: P0\n**Component**: core\n',
      },
      { title: 'It breaks', priority: 'P2', component: 'core' },
    ],
    [
      'a row of the summary that says what is said nowhere else',
      {
        'bugs/BUG-007-x/PROMPT.md': 'It breaks.\n',
        'bugs/bugs.md':
          '# Bugs\n\n## High\n\n| ID | Title | Status |\n|---|---|---|\n| BUG-001 | Other | new |\n\n## Low\n\n| Bug ID | Title | Priority | Status |\n|---|---|---|---|\n| BUG-7 | From the table | P1 | on_hold |\n',
      },
      { title: 'From the table', priority: 'P1', status: 'on_hold', blocked: true, why: 'on_hold in bugs/bugs.md' },
    ],
    [
      'a human action with another prefix',
      { 'human-actions/HA-003-buy/INSTRUCTIONS.md': '# HA-003: Buy it\n\n**Status**: pending\n' },
      { id: 'HA-003', kind: 'human-action', title: 'Buy it', why: 'for a person, pending in INSTRUCTIONS.md' },
    ],
    [
      'an inquiry',
      { 'inquiries/INQ-002-why/PROMPT.md': '# INQ-002: Why so slow?\n' },
      { id: 'INQ-002', kind: 'human-action', title: 'Why so slow?' },
    ],
    [
      'a status in a code block, and one in prose',
      {
        'bugs/BUG-7-x/bug_report.json': '{"status": "new"}',
        'bugs/BUG-7-x/PROMPT.md':
          '# It breaks\n\n```yaml\nstatus: completed\n# note\n```\n\nThe **status** closed is shown.\n\n**Priority**: P1\n',
      },
      { status: 'new', priority: 'P1', description: 'The **status** closed is shown.' },
    ],
    [
      'fields in front matter',
      {
        'bugs/BUG-7-x/PROMPT.md': '---\npriority: "P0"\ndepends_on: BUG-8\nblocked_by: BUG-9\n---\n# It breaks\n',
        'bugs/BUG-8-y/PROMPT.md': '# Needed\n',
        'features/FEAT-9-z/PROMPT.md': '# Other\n',
      },
      { priority: 'P0', waitsFor: ['BUG-8'] },
    ],
    [
      'what it is not blocked by',
      { 'bugs/BUG-7-x/bug_report.json': '{"title": "It", "status": "new", "blocked_by": false}' },
      { blocked: false, waitsFor: [] },
    ],
    [
      'an object that names what it is blocked by',
      {
        'bugs/BUG-7-x/bug_report.json': '{"title": "It", "status": "new", "blocked_by": [{"id": "BUG-9"}, null]}',
      },
      { blocked: true, waitsFor: ['BUG-9'] },
    ],
    [
      'an object that names what is completed',
      {
        'bugs/BUG-7-x/bug_report.json': '{"title": "It", "status": "new", "blocked_by": [{"item_id": "BUG-9"}]}',
        'completed/BUG-9-y/PROMPT.md': '# Done\n',
      },
      { blocked: false, waitsFor: [] },
    ],
    [
      'a row that a run left for review, and that a person did not change with the item',
      {
        'bugs/BUG-7-x/bug_report.json': '{"title": "It", "status": "new"}',
        'bugs/bugs.md': '| ID | Title | Status |\n|---|---|---|\n| BUG-7 | It | needs-review |\n',
      },
      { status: 'new', blocked: false },
    ],
    [
      'an unknown status',
      { 'bugs/BUG-7-x/bug_report.json': '{"title": "It", "status": "glorious"}' },
      { status: 'glorious', blocked: false, why: 'the status "glorious" in bug_report.json is unknown, so it is open' },
    ],
  ])('%s', (_, files, item) => {
    const found = only(files);
    expect(found.unreadable).toEqual([]);
    expect(found.item).toMatchObject(item);
    expect(found.isDone).toBe(false);
  });

  it.each([
    ...['verified', 'wont_do', "won't do", 'implemented', 'cancelled', 'merged', 'superseded', 'fixed', 'Completed'],
    ...['✅ Completed', 'done (2026-01-02)', 'Resolved - in 1.2', '**DONE**', 'WONTFIX', 'duplicate of BUG-1'],
  ])('the status %s is done', (status) => expect(meaningOf(status)).toBe('done'));

  it.each(['needs-review', 'speculative', 'deferred', 'on_hold', 'On hold until May', 'blocked: a licence', 'Blocked'])(
    'the status %s waits',
    (status) => expect(meaningOf(status)).toBe('waiting'),
  );

  it.each(['new', 'test-failure', 'in_progress', 'In Progress', 'open', 'reopened', 'TODO'])(
    'the status %s is open',
    (status) => expect(meaningOf(status)).toBe('open'),
  );

  it.each(['', 'ok?', 'undone', 'incomplete', 'abc'])('the status %j is unknown', (status) =>
    expect(meaningOf(status)).toBeNull(),
  );

  it.each([
    ['P0', 'P0'],
    ['**P0**', 'P0'],
    ['`P1`', 'P1'],
    ['🔴 P0', 'P0'],
    ['p2 (later)', 'P2'],
    ['Highest', 'P0'],
    ['lowest', 'P3'],
    ['High', 'P1'],
    [0, 'P0'],
    [2, 'P2'],
    ['1', 'P1'],
    ['P10', 'P3'],
    ['not critical', 'P3'],
    [true, 'P3'],
    ['', 'P3'],
  ])('the priority %j is %s', (priority, expected) => {
    const report = JSON.stringify({ title: 'It', status: 'new', priority });
    expect(only({ 'bugs/BUG-007-x/bug_report.json': report }).item?.priority).toBe(expected);
  });

  it('the most final of three statuses counts, and what the others say is noted', () => {
    const { isDone, notes } = only({
      'bugs/BUG-007-x/bug_report.json': '{"title": "It", "status": "new"}',
      'bugs/BUG-007-x/PROMPT.md': '# It\n\n**Status**: implemented\n',
      'bugs/bugs.md': '| ID | Title | Status |\n|---|---|---|\n| BUG-007 | It | deferred |\n',
    });
    expect(isDone).toBe(true);
    expect(notes).toEqual([
      'BUG-007: PROMPT.md says implemented, bug_report.json new, bugs/bugs.md deferred; taken as done',
      'BUG-007 is marked done (implemented in PROMPT.md), and is still in bugs/BUG-007-x',
    ]);
  });

  it('an empty folder, and a broken report beside a prompt, are unreadable', () => {
    const { item, unreadable } = only({
      'bugs/BUG-001-x/notes.txt': 'x',
      'bugs/BUG-002-x/bug_report.json': '{"title": ',
      'bugs/BUG-002-x/PROMPT.md': '# Fine\n',
    });
    expect(item).toBeUndefined();
    expect(unreadable.map(({ problem }) => problem)).toEqual([
      'bug_report.json and PROMPT.md are missing',
      expect.stringContaining('bug_report.json is not JSON'),
    ]);
  });
});

describe('W-1: nothing is taken before what it depends on', () => {
  it('dependencies, what an action holds up, and what an item blocks, in any place and form', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { dependencies: ['FEAT-2 (the search)'] });
    backlog.feature(2);
    backlog.write('features/FEAT-003-x/PROMPT.md', '# It\n\n**Priority**: P0 **Depends**: BUG-001, FEAT-2\n');
    backlog.bug(4);
    backlog.write(
      'human-actions/ACTION-001-buy/action_report.json',
      '{"title": "Buy", "status": "pending", "blocking_items": [{"item_id": "BUG-004"}]}',
    );
    backlog.bug(5, { dependencies: 'None' });
    backlog.bug(6, { dependencies: ['FEAT-900'] });
    expect(readBacklog(backlog.folder).notes).toEqual(['BUG-006 depends on FEAT-900, which is not in the backlog']);
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.succeeded).toEqual(['BUG-005', 'BUG-006', 'FEAT-002', 'BUG-001', 'FEAT-003']);
    expect(readBacklog(backlog.folder).items.find(({ id }) => id === 'BUG-004')).toMatchObject({
      blocked: true,
      why: 'waits for ACTION-001',
    });
  });

  it('nor after that failed', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2, { dependencies: ['BUG-001'] });
    const { result } = await runOver(backlog, { process: () => ({ status: 'failed' }) });
    expect(result.failures.map(({ id }) => id)).toEqual(['BUG-001']);
  });

  it('items that wait for each other are named', () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { dependencies: ['BUG-002'] });
    backlog.bug(2, { blocked_by: ['BUG-003'] });
    backlog.bug(3, { dependencies: ['BUG-001'] });
    backlog.bug(4, { dependencies: ['BUG-004'] });
    const { items, notes } = readBacklog(backlog.folder);
    expect(items.filter(({ blocked }) => blocked).map(({ id }) => id)).toEqual(['BUG-001', 'BUG-002', 'BUG-003']);
    expect(notes).toEqual(['BUG-001 waits for BUG-002 waits for BUG-003 waits for BUG-001: none of them can be taken']);
  });
});
