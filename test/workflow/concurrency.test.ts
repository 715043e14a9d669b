import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction, WorkResult } from '../../src/workflow/index.ts';
import { runOver } from '../support/backlog.ts';
import { editLine, numberOf, projectWith, together } from '../support/project.ts';

describe('W-1: several items at once', () => {
  it('are worked on in work trees of their own, and merged and archived in the order of the queue', async () => {
    const backlog = projectWith(4);
    const all = together(4);
    const roots: string[] = [];
    const ended: string[] = [];
    const process: WorkFunction = async ({ item, root, folder }) => {
      roots.push(root);
      expect(folder).toBe(join(root, item.folder));
      await all();
      editLine(root, 10 * numberOf(item.id), `by ${item.id}`);
      writeFileSync(join(root, `${item.id}.txt`), item.id);
      // The last one ends first.
      for (let rest = 4 - numberOf(item.id); rest < 3; rest += 1) await new Promise(setImmediate);
      ended.push(item.id);
      return { status: 'succeeded' };
    };
    const { result, events } = await runOver(backlog, { process }, { limits: { concurrency: 4 } });
    expect(result).toMatchObject({
      status: 'completed',
      iterations: 4,
      failures: [],
      problems: [],
      warnings: [expect.stringContaining('no test agent')],
    });
    const ids = ['BUG-001', 'BUG-002', 'BUG-003', 'BUG-004'];
    expect(result.succeeded).toEqual(ids);
    expect(new Set(roots).size).toBe(4);
    expect(events.filter(({ type }) => type === 'item.started')).toHaveLength(4);
    const log = backlog.git('log', '--reverse', '--format=%s').split('\n');
    expect(log.slice(-4)).toEqual(ids.map((id) => `Complete ${id}`));
    for (const id of ids) expect(backlog.read(`${id}.txt`)).toBe(id);
    const lines = backlog.read('lines.txt').split('\n');
    expect([10, 20, 30, 40].map((line) => lines[line])).toEqual(ids.map((id) => `by ${id}`));
    expect(backlog.git('status', '--short')).toBe('');
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(backlog.list('agent_runs/worktrees')).toEqual(['.gitignore']);
  });

  it('take no more items than there is room for', async () => {
    const backlog = projectWith(5);
    let atWork = 0;
    let most = 0;
    const both = together(2);
    const process: WorkFunction = async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await both();
      await new Promise(setImmediate);
      atWork -= 1;
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 2, maxItems: 4 } });
    expect(most).toBe(2);
    expect(result.succeeded).toEqual(['BUG-001', 'BUG-002', 'BUG-003', 'BUG-004']);
    expect(backlog.list('bugs').filter((name) => name.startsWith('BUG'))).toEqual(['BUG-005-bug-5']);
  });

  it('a conflict is a failed item, whose work is kept as a branch', async () => {
    const backlog = projectWith(3);
    const all = together(3);
    const process: WorkFunction = async ({ item, root }) => {
      await all();
      editLine(root, item.id === 'BUG-003' ? 40 : 5, `by ${item.id}`);
      return { status: 'succeeded' };
    };
    const { result, report } = await runOver(backlog, { process }, { limits: { concurrency: 3 } });
    const branch = `pawl/${result.run}/BUG-002`;
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001', 'BUG-003'], problems: [] });
    expect(result.failures).toMatchObject([
      {
        id: 'BUG-002',
        phase: 'archiving',
        message: `Merge conflict in lines.txt; the work is on the branch ${branch}.`,
      },
    ]);
    expect(report).toContain(branch);
    const lines = backlog.read('lines.txt').split('\n');
    expect([lines[5], lines[40]]).toEqual(['by BUG-001', 'by BUG-003']);
    expect(backlog.git('show', `${branch}:lines.txt`).split('\n')[5]).toBe('by BUG-002');
    expect(backlog.has('bugs/BUG-002-bug-2')).toBe(true);
    expect(backlog.json('bugs/BUG-002-bug-2/bug_report.json').status).toBe('new');
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('work that does not succeed is not merged, but kept as a branch if it changed files', async () => {
    const backlog = projectWith(4);
    const outcomes: Record<string, WorkResult> = {
      'BUG-001': { status: 'failed', message: 'no' },
      'BUG-002': { status: 'blocked', message: 'a licence' },
      'BUG-003': { status: 'succeeded' },
      'BUG-004': { status: 'failed', message: 'nothing done' },
    };
    const process: WorkFunction = ({ item, root }) => {
      if (item.id !== 'BUG-004') writeFileSync(join(root, `${item.id}.txt`), 'work');
      return outcomes[item.id] ?? { status: 'failed' };
    };
    // The test agent looks at the work where it was done.
    const test: WorkFunction = ({ item, root }) => ({
      status: existsSync(join(root, `${item.id}.txt`)) ? 'failed' : 'succeeded',
      message: 'a test fails',
    });
    const { result } = await runOver(
      backlog,
      { process, test },
      { limits: { concurrency: 4, maxConsecutiveFailures: 9 } },
    );
    expect(result).toMatchObject({ succeeded: [], setAside: ['BUG-002'], problems: [] });
    expect(result.failures.map(({ id, phase }) => [id, phase])).toEqual([
      ['BUG-001', 'processing'],
      ['BUG-003', 'testing'],
      ['BUG-004', 'processing'],
    ]);
    const kept = ['BUG-001', 'BUG-002', 'BUG-003'];
    expect(result.warnings.toSorted()).toEqual(
      kept.map((id) => `The work on ${id} was not merged; it is on the branch pawl/${result.run}/${id}.`),
    );
    for (const id of kept) {
      expect(backlog.git('show', `pawl/${result.run}/${id}:${id}.txt`)).toBe('work');
      expect(backlog.has(`${id}.txt`)).toBe(false);
    }
    expect(backlog.git('branch', '--list', 'pawl/*').split('\n')).toHaveLength(3);
  });

  it('failures count in the order of the queue, and items in progress are settled after an early exit', async () => {
    const backlog = projectWith(9);
    const four = together(4);
    const process: WorkFunction = async ({ item }) => {
      if (numberOf(item.id) <= 4) await four();
      return item.id === 'BUG-004' ? { status: 'succeeded' } : { status: 'failed', message: 'no' };
    };
    const { result, phases } = await runOver(backlog, { process }, { limits: { concurrency: 4 } });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: ['BUG-004'] });
    expect(result.failures.slice(0, 3).map(({ id }) => id)).toEqual(['BUG-001', 'BUG-002', 'BUG-003']);
    expect(result.incidents).toMatchObject([
      { kind: 'consecutive_failures', failures: [{ id: 'BUG-001' }, { id: 'BUG-002' }, { id: 'BUG-003' }] },
    ]);
    // Two more were taken when the first and the second were settled.
    expect(result.iterations).toBe(6);
    expect(phases.filter((phase) => phase === 'capturing')).toHaveLength(1);
    expect(backlog.list('completed')).toEqual(['BUG-004-bug-4']);
  });

  it('a STOP that an agent leaves with its item ends the run, and the others are settled', async () => {
    const backlog = projectWith(4);
    const process: WorkFunction = async ({ item, folder }) => {
      if (item.id === 'BUG-001') writeFileSync(join(folder, 'comments.md'), 'STOP: look at this first\n');
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: ['BUG-001', 'BUG-002'], iterations: 2 });
    expect(result.incidents).toMatchObject([
      { kind: 'stop', stop: { file: 'completed/BUG-001-bug-1/comments.md', request: 'look at this first' } },
    ]);
  });

  it('comments of agents and of the run are both kept, and the summaries remain those of the run', async () => {
    const backlog = projectWith(2);
    backlog.write('bugs/bugs.md', '# Bugs\n\n| ID | Title | Status |\n| --- | --- | --- |\n');
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=Summary');
    const process: WorkFunction = async ({ item, folder, root }) => {
      writeFileSync(join(folder, 'comments.md'), `Note of the agent on ${item.id}.\n`);
      writeFileSync(join(root, 'bugs/bugs.md'), 'not a table\n');
      return { status: 'succeeded', message: 'All done.' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    for (const number of [1, 2]) {
      const text = backlog.read(`completed/BUG-00${number}-bug-${number}/comments.md`);
      expect(text).toContain(`Note of the agent on BUG-00${number}.`);
      expect(text).toContain('> All done.');
    }
    expect(backlog.read('bugs/bugs.md')).not.toContain('not a table');
  });

  it('changes that are not committed are in each work tree, and stay uncommitted', async () => {
    const backlog = projectWith(2, '{"auto_commit": false}');
    backlog.write('draft.txt', 'by a person');
    editLine(backlog.folder, 50, 'by a person');
    const process: WorkFunction = ({ item, root }) => {
      expect(readFileSync(join(root, 'draft.txt'), 'utf8')).toBe('by a person');
      editLine(root, 10 * numberOf(item.id), `by ${item.id}`);
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    const lines = backlog.read('lines.txt').split('\n');
    expect([lines[10], lines[20], lines[50]]).toEqual(['by BUG-001', 'by BUG-002', 'by a person']);
    expect(backlog.git('log', '--format=%s').split('\n')).toEqual(['As found', 'Begin']);
    expect(backlog.git('status', '--short').split('\n')).toEqual(expect.arrayContaining(['?? draft.txt']));
  });

  it('an abort ends the work on all of them, and each stays open', async () => {
    const backlog = projectWith(3);
    const ending = new AbortController();
    const all = together(3);
    const process: WorkFunction = async ({ root, item }) => {
      writeFileSync(join(root, `${item.id}.txt`), 'half');
      await all();
      ending.abort(new Error('enough'));
      return new Promise(() => {});
    };
    const { result, report } = await runOver(
      backlog,
      { process },
      { limits: { concurrency: 3 }, signal: ending.signal },
    );
    expect(result).toMatchObject({
      status: 'exitedEarly',
      abortReason: 'enough',
      failures: [],
      succeeded: [],
      incidents: [],
    });
    for (const number of [1, 2, 3]) {
      expect(backlog.has(`bugs/BUG-00${number}-bug-${number}`)).toBe(true);
      expect(report).toContain(`| BUG-00${number} | left open when the run ended |`);
      expect(backlog.git('show', `pawl/${result.run}/BUG-00${number}:BUG-00${number}.txt`)).toBe('half');
    }
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(backlog.has('agent_runs/in-progress.json')).toBe(false);
  });

  it('W-4: after a crash, what was done is merged, and the rest counts as one failure in a row', async () => {
    const backlog = projectWith(5);
    const { signal } = spawnSync(process.execPath, ['test/support/dying-together.ts', backlog.folder], {
      stdio: 'inherit',
    });
    expect(signal).toBe('SIGKILL');
    expect(backlog.state.in_progress).toEqual([
      { id: 'BUG-001', phase: 'processing' },
      { id: 'BUG-002', phase: 'archiving' },
      { id: 'BUG-003', phase: 'processing' },
    ]);
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json').status).toBe('in_progress');
    const { result, events } = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    expect(result).toMatchObject({ status: 'completed', problems: [], iterations: 5 });
    expect(result.succeeded).toEqual(['BUG-002', 'BUG-004', 'BUG-005']);
    expect(result.failures).toMatchObject([
      { id: 'BUG-001', phase: 'processing', slugs: ['interrupted'] },
      { id: 'BUG-003', phase: 'processing', slugs: ['interrupted'] },
    ]);
    const counts = events.flatMap((event) => (event.type === 'item.failed' ? [event.failureCount] : []));
    expect(counts).toEqual([1, 1]);
    expect(backlog.read('BUG-002.txt')).toBe('BUG-002');
    expect(backlog.git('log', '--format=%s').split('\n')).toContain('Complete BUG-002');
    for (const id of ['BUG-001', 'BUG-003']) {
      expect(backlog.git('show', `pawl/${result.run}/${id}:${id}.txt`)).toBe(id);
      expect(backlog.has(`${id}.txt`)).toBe(false);
    }
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json').status).toBe('new');
    expect(backlog.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(backlog.git('status', '--short')).toBe('');
  });
});
