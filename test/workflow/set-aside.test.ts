import { beforeEach, describe, expect, it } from 'vitest';
import type { BacklogItem } from '../../src/workflow/backlog/backlog.ts';
import { allItemIds, createdSince, noteWork, setItemAside } from '../../src/workflow/run/filing.ts';
import { TestBacklog } from '../support/backlog.ts';

let backlog: TestBacklog;
beforeEach(() => {
  backlog = new TestBacklog();
});

describe('what an agent did becomes a comment', () => {
  const work = { run: 'r1', phase: 'processing', agent: 'coder', verdict: 'failed', message: 'I tried.' } as const;
  const noted = (folder: string, own: Partial<Parameters<typeof noteWork>[2]> = {}) =>
    noteWork(backlog.folder, folder, { ...work, ...own });

  it('quoted line by line, and committed at once unless it succeeded', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1);
    expect(await noted(folder, { message: 'I tried.\n\n## STOP\n' })).toBeNull();
    expect(backlog.read(`${folder}/comments.md`)).toBe(
      '## processing by coder: failed (run r1)\n\n> I tried.\n>\n> ## STOP\n>\n',
    );
    expect(backlog.lastCommit.message).toBe('BUG-001: failed in processing');
    expect(await noted(folder, { verdict: 'succeeded', phase: 'testing' })).toBeNull();
    expect(backlog.read(`${folder}/comments.md`)).toContain('## testing by coder: succeeded (run r1)\n\n> I tried.\n');
    expect(backlog.lastCommit.message).toBe('BUG-001: failed in processing');
  });

  it.each(['aborted', 'unavailable'] as const)('work that was %s leaves none', async (verdict) => {
    const folder = backlog.bug(1);
    expect(await noted(folder, { verdict })).toBeNull();
    expect(backlog.has(`${folder}/comments.md`)).toBe(false);
  });

  it('an item that is gone gets none', async () => {
    expect(await noted('bugs/BUG-001-bug-1')).toBeNull();
    expect(backlog.list('.')).toEqual(['.git']);
  });

  it('a commit that fails is reported, with the item', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1);
    backlog.lockIndex();
    expect(await noted(folder)).toMatch(/^What was done for bugs\/BUG-001-bug-1 is not committed: ./);
  });
});

describe('W-2: an item that waits for a person is set aside', () => {
  const draft = {
    item_type: 'human_action',
    title: 'Ask for a key',
    component: 'runs',
    priority: 'P1',
    evidence: [],
    description: 'A key is needed.',
    metadata: {},
  } as const;
  const aside = (item: BacklogItem | null, needs = 'a key', run = 'r1') =>
    setItemAside(backlog.folder, item, { draft: { ...draft, evidence: [] }, needs, run, id: 'BUG-001' });
  const action = 'human-actions/ACTION-001-ask-for-a-key';

  it('behind a new action, in its report, its row, its comments and a commit', async () => {
    backlog.autoCommit();
    const folder = backlog.bug(1);
    backlog.listBug();
    const set = await aside(backlog.found('BUG-001'));
    expect(set).toEqual({
      action: { id: 'ACTION-001', title: 'Ask for a key', folder: action, isNew: true, why: 'BUG-001 is blocked' },
      note: null,
      failure: null,
    });
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({ status: 'blocked', blocked_by: ['ACTION-001'] });
    expect(backlog.read('bugs/bugs.md')).toContain('| blocked |');
    expect(backlog.read(`${folder}/comments.md`)).toBe('## Set aside\n\nIt waits for ACTION-001, found in run r1.\n');
    expect(backlog.lastCommit).toEqual({
      message: 'Set BUG-001 aside',
      files: ['PROMPT.md', 'bug_report.json', 'comments.md']
        .map((name) => `${folder}/${name}`)
        .concat('bugs/bugs.md')
        .toSorted(),
    });
  });

  it('once for each thing that is needed: the same need in another run is the same action', async () => {
    const folder = backlog.bug(1, { blocked_by: 'FEAT-009' });
    await aside(backlog.found('BUG-001'));
    const again = await aside(backlog.found('BUG-001'), 'a key', 'r2');
    expect(again.action).toMatchObject({ id: 'ACTION-001', isNew: false });
    expect(backlog.json(`${folder}/bug_report.json`).blocked_by).toEqual(['FEAT-009', 'ACTION-001']);
    expect(backlog.read(`${action}/comments.md`)).toContain('## Still needed by BUG-001\n\nFound again in run r2.');
    const other = await aside(backlog.found('BUG-001'), 'a password');
    expect(other.action.id).toBe('ACTION-002');
    expect(backlog.json(`${folder}/bug_report.json`).blocked_by).toEqual(['FEAT-009', 'ACTION-001', 'ACTION-002']);
  });

  it('an item that cannot be read keeps its action, and the note says so', async () => {
    expect(await aside(null)).toMatchObject({
      action: { id: 'ACTION-001' },
      note: 'BUG-001 could not be read, so it is not marked as blocked by ACTION-001',
      failure: null,
    });
  });

  it('a commit that fails is reported', async () => {
    backlog.autoCommit();
    backlog.bug(1);
    const item = backlog.found('BUG-001');
    backlog.lockIndex();
    expect((await aside(item)).failure).toContain('index.lock');
  });
});

describe('what a run created', () => {
  it('is every folder with a new id, wherever it is now', () => {
    backlog.bug(1);
    backlog.write('completed/FEAT-002-an-older-one/PROMPT.md', 'x');
    const before = allItemIds(backlog.folder);
    expect(before.toSorted()).toEqual(['BUG-001', 'FEAT-002']);
    backlog.feature(3);
    backlog.write('completed/BUG-004-mended-at-once/PROMPT.md', 'x');
    backlog.write('bugs/notes/PROMPT.md', 'no item');
    backlog.write('bugs/BUG-005-a-file', 'no folder');
    expect(createdSince(backlog.folder, before)).toEqual([
      {
        id: 'FEAT-003',
        title: 'feature 3',
        folder: 'features/FEAT-003-feature-3',
        isNew: true,
        why: 'created during the run',
      },
      {
        id: 'BUG-004',
        title: 'mended at once',
        folder: 'completed/BUG-004-mended-at-once',
        isNew: true,
        why: 'created during the run',
      },
    ]);
  });
});
