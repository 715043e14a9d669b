import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { report } from '../support/session.ts';

const fails: WorkFunction = ({ item }) => ({
  status: 'failed',
  message: `${item.id}: no`,
  slugs: ['tool_exec_failed'],
});

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('W-2 W-3: combined exits', () => {
  it('a STOP and a third failure in the same item both become work items', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const { result, report: text } = await runOver(backlog, {
      process: (task) => {
        if (task.item.id === 'BUG-003') backlog.write('comments.md', 'STOP: do the upgrade first\n');
        return fails(task);
      },
    });
    expect(result.created.map(({ title }) => title)).toEqual([
      'Session failure: 3 consecutive item processing failures',
      'User-requested work: do the upgrade first',
    ]);
    expect(backlog.state.early_exit_reason).toBe('3 consecutive item processing failures; STOP in comments.md');
    expect(text).toContain('FEAT-001');
  });

  it('if the retrospective and summary agents fail, both documents are written without them', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const silent = defineAgent({
      name: 'silent',
      models: [rehearsalModel(() => ({ text: '' }))],
      limits: { maxTurns: 1 },
    });
    const run = await runOver(backlog, {
      process: fails,
      retrospective: () => {
        throw new Error('no retrospective');
      },
      summary: silent,
    });
    expect(run.result.problems).toEqual([
      'The retrospective agent failed, so the document was written without it: no retrospective',
      expect.stringMatching(/^The summary agent failed, so the document was written without it: retries_exhausted/),
    ]);
    expect(run.retrospective).toContain('failed with tool_exec_failed: 3');
    expect(run.report).toContain('no retrospective');
    expect(run.result.created).toHaveLength(1);
    expect(run.warnings.filter((line) => line.event === 'problem.noted')).toHaveLength(2);
  });

  it("the documents contain the agents' text, and items that agents create belong to the run", async () => {
    const backlog = new TestBacklog();
    const { workItemTool } = await import('../../src/workflow/index.ts');
    backlog.bug(1);
    const model = rehearsalModel([
      {
        calls: [
          {
            name: 'create',
            input: { item_type: 'bug', title: 'The build is slow', component: 'ci', description: 'Ten minutes.' },
          },
        ],
      },
      report({ text: 'All is well but the build.' }),
    ]);
    const retrospective = defineAgent({
      name: 'looking-back',
      models: [model],
      tools: { create: workItemTool(backlog.folder) },
    });
    const run = await runOver(backlog, { process: succeeds, retrospective, summary: () => 'One bug, one new.' });
    expect(run.result.created).toMatchObject([{ id: 'BUG-002', isNew: true }]);
    expect(run.retrospective).toContain('All is well but the build.');
    expect(run.report).toContain('One bug, one new.');
    expect(run.report).toMatch(/## Issues Created\n\n- BUG-002/);
  });

  it('a repeated failure adds evidence to the open bug instead of creating another', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number, { priority: 'P0' });
    const limits = { maxTries: 9 };
    const first = await runOver(backlog, { process: fails }, { limits });
    // The bug about the run fails with them, which makes no other incident.
    const second = await runOver(backlog, { process: fails }, { limits });
    expect(second.result.failures.map(({ id }) => id)).toEqual(['BUG-004', 'BUG-001', 'BUG-002']);
    expect(first.result.created).toMatchObject([{ id: 'BUG-004', isNew: true }]);
    expect(second.result.created).toMatchObject([{ id: 'BUG-004', isNew: false }]);
    const folder = second.result.created[0]?.folder;
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({ runs: [first.result.run, second.result.run] });
    expect(backlog.json(`${folder}/bug_report.json`).evidence.map(({ location }) => location)).toContain(
      `agent_runs/${second.result.run}/`,
    );
    expect(backlog.read(`${folder}/comments.md`)).toContain(`Seen again in run ${second.result.run}`);
    // A different failure becomes a different bug.
    const times: WorkFunction = () => ({ status: 'failed', message: 'else', slugs: ['tool_timeout'] });
    const third = await runOver(backlog, { process: times }, { limits });
    expect(third.result.created).toMatchObject([{ id: 'BUG-005', isNew: true }]);
  });

  it('the full text of an item that cannot be written is in the result and the report, and the run finishes', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.feature(number);
    // A folder blocks the path of the bug summary.
    backlog.write('bugs/bugs.md/in-the-way', '');
    const { result, report: text } = await runOver(backlog, { process: fails });
    expect(result).toMatchObject({ status: 'exitedEarly', created: [] });
    expect(result.problems).toHaveLength(1);
    expect(result.problems[0]).toContain(
      'The work item "Session failure: 3 consecutive item processing failures" could not be written',
    );
    expect(result.problems[0]).toContain('FEAT-003: no');
    expect(backlog.list('bugs')).toEqual(['bugs.md']);
    expect(text).toContain('## Problems');
    expect(text).toContain('FEAT-003: no');
  });

  it('if the disk fills up during a write, no partial item is left and nothing is lost', () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    // Files are limited to 8 KB here. The state file fits; the item with its long error output does not.
    const { stdout } = spawnSync(
      'sh',
      ['-c', 'ulimit -f 16; exec "$0" test/support/full-disk-run.ts "$1"', process.execPath, backlog.folder],
      { encoding: 'utf8' },
    );
    const { status, created, problems } = JSON.parse(stdout);
    expect({ status, created }).toEqual({ status: 'exitedEarly', created: [] });
    const lost = problems.find((problem: string) => problem.startsWith('The work item "Session failure: '));
    expect(lost).toMatch(/could not be written: .*EFBIG/);
    expect(lost).toContain('the end of the error output');
    expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1', 'BUG-002-bug-2', 'BUG-003-bug-3']);
  });
});
