import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createWorkItem, runWorkflow, type WorkFunction, type WorkItemInput } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

const bug = (over: Partial<WorkItemInput> = {}) =>
  ({ item_type: 'bug', title: 'Hello', component: 'core', description: 'It is broken.', ...over }) as WorkItemInput;

describe('W-2: creating items in an unusual backlog', () => {
  it('creating an item removes nothing that already exists', async () => {
    const backlog = new TestBacklog();
    backlog.write('elsewhere/bug_report.json', '{}');
    mkdirSync(`${backlog.folder}/bugs`);
    symlinkSync('../elsewhere', `${backlog.folder}/bugs/BUG-001-hello`);
    backlog.write('bugs/BUG-20260101120000123-hello/bug_report.json', '{}');
    // A symlink counts as an item. A number too large to increment is ignored.
    expect((await createWorkItem(backlog.folder, bug())).id).toBe('BUG-002');
    expect((await createWorkItem(backlog.folder, bug())).id).toBe('BUG-003');
    expect(backlog.list('bugs').filter((name) => name.endsWith('hello'))).toHaveLength(4);
  });

  it('a commit to the checked-out branch works as usual, and a branch of another worktree is refused', async () => {
    const backlog = new TestBacklog();
    const here = await createWorkItem(backlog.folder, bug({ auto_commit: true, branch_name: 'main' }));
    expect(here.commit).toMatchObject({ ok: true, branch: 'main' });
    expect(backlog.git('status', '--short', '--', 'bugs')).toBe('');
    backlog.git('worktree', 'add', '--quiet', '.git/other-tree', '-b', 'taken');
    const taken = await createWorkItem(backlog.folder, bug({ auto_commit: true, branch_name: 'taken', title: 'B' }));
    expect(taken.commit).toMatchObject({ ok: false, message: 'the branch taken is checked out in another worktree' });
  });

  it('metadata cannot override the id or the status of an item', async () => {
    const backlog = new TestBacklog();
    const metadata = { status: 'done', bug_id: 'BUG-999', severity: 'low' as const };
    const { folder } = await createWorkItem(backlog.folder, bug({ metadata }));
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({
      bug_id: 'BUG-001',
      status: 'new',
      severity: 'low',
    });
  });

  it('an unrelated table is left alone, and line endings are kept', async () => {
    const backlog = new TestBacklog();
    const before = '| ID | Meaning |\r\n|---|---|\r\n| BUG | a bug |\r\n\r\n| ID | Title |\r\n|---|---|\r\n';
    backlog.write('bugs/bugs.md', before);
    await createWorkItem(backlog.folder, bug());
    expect(backlog.read('bugs/bugs.md')).toBe(`${before}| BUG-001 | Hello |\r\n`);
  });

  it('a file system failure is a PawlError', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('agent_runs', 'in the way');
    const failed = { name: 'PawlError', code: 'backlog_failed' };
    await expect(createWorkItem(backlog.folder, bug())).rejects.toMatchObject(failed);
    await expect(runWorkflow({ backlog: backlog.folder, agents: { process: succeeds } })).rejects.toMatchObject(failed);
  });
});

describe('W-1: reading unusual items', () => {
  it('handles free-text blockers, other id forms, byte order marks, duplicate ids and a comments folder', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { status: 'blocked', blocked_by: ['waiting for legal'] });
    backlog.bug(2, { blocked_by: 'bug-1, BUG-9' });
    backlog.bug(3, { blocked_by: ['BUG-08'] });
    backlog.write('completed/BUG-008-done/bug_report.json', '{}');
    backlog.write('bugs/BUG-004-marked/bug_report.json', '\uFEFF{"title": "Marked"}');
    backlog.write('bugs/BUG-004-twin/bug_report.json', '{"title": "Twin"}');
    backlog.write('bugs/BUG-8-again/bug_report.json', '{"title": "Again"}');
    backlog.bug(5);
    mkdirSync(`${backlog.folder}/bugs/BUG-005-bug-5/comments.md`);
    const { result, report } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-003', 'BUG-004'] });
    expect(report).toContain('bugs/BUG-8-again: completed/BUG-008-done shares the id BUG-8');
    expect(report).toContain('bugs/BUG-004-twin: completed/BUG-004-marked shares the id BUG-004');
    expect(report).toContain('bugs/BUG-005-bug-5: bugs/BUG-005-bug-5/comments.md is not a file');
  });

  it('an item with a file that cannot be read is left alone, and the others are worked on', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3, 4]) backlog.bug(number);
    const outside = `${backlog.folder}-outside.md`;
    symlinkSync(process.execPath, `${backlog.folder}/bugs/BUG-001-bug-1/PLAN.md`);
    mkdirSync(`${backlog.folder}/bugs/BUG-002-bug-2/TASKS.md`);
    symlinkSync(outside, `${backlog.folder}/bugs/BUG-003-bug-3/comments.md`);
    const { result, report } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-004'], failures: [] });
    expect(report).toContain('bugs/BUG-001-bug-1/PLAN.md is a link that leads outside the backlog');
    expect(report).toContain('bugs/BUG-002-bug-2/TASKS.md is not a file');
    expect(report).toContain('bugs/BUG-003-bug-3/comments.md is a link that leads nowhere');
    expect(existsSync(outside)).toBe(false);
  });

  it('links that lead nowhere or to themselves are no items', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    mkdirSync(`${backlog.folder}/completed`);
    symlinkSync('BUG-002-loop', `${backlog.folder}/bugs/BUG-002-loop`);
    symlinkSync('nowhere', `${backlog.folder}/completed/BUG-003-dangling`);
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'], incidents: [], problems: [] });
    expect((await createWorkItem(backlog.folder, bug())).created).toBe(true);
  });

  it('W-2: a session log that cannot be read costs the evidence, not the work item', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const { result } = await runOver(backlog, {
      process: ({ item }) => {
        const log = `${backlog.folder}/agent_runs/${backlog.state.run}/${item.id}-processing.jsonl`;
        mkdirSync(log, { recursive: true });
        return { status: 'failed', message: 'It does not work.' };
      },
    });
    expect(result).toMatchObject({ status: 'exitedEarly', incidents: [{ kind: 'consecutive_failures' }] });
    expect(result.created).toHaveLength(1);
    expect(result.problems).toEqual([expect.stringMatching(/^The session logs of BUG-001, .* could not be read: /)]);
  });
});
