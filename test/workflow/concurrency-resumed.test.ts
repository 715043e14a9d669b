import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, type TestBacklog } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

/** Starts a run of three items at once that kills itself. The work on BUG-002 is done, and not merged. */
function crashed(bugs = 3): TestBacklog {
  const project = projectWith(bugs);
  const { signal } = spawnSync(process.execPath, ['test/support/dying-together.ts', project.folder], {
    stdio: 'inherit',
  });
  expect(signal).toBe('SIGKILL');
  return project;
}

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const change = (project: TestBacklog, over: object) =>
  project.write('.agent-state.json', JSON.stringify({ ...project.state, ...over }));

describe('W-1 W-4: a run that died is continued', () => {
  it('and the work that was done conflicts with what a person did since: the item fails', async () => {
    const project = crashed();
    project.write('BUG-002.txt', 'of a person');
    const { result } = await runOver(project, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: [] });
    expect(result.failures.map(({ id, phase, slugs }) => [id, phase, slugs])).toEqual([
      ['BUG-001', 'processing', ['interrupted']],
      ['BUG-002', 'archiving', []],
      ['BUG-003', 'processing', ['interrupted']],
    ]);
    expect(project.read('BUG-002.txt')).toBe('of a person');
    expect(project.git('show', `pawl/${result.run}/BUG-002:BUG-002.txt`)).toBe('BUG-002');
    expect(result.failures[1]?.message).toContain(`pawl/${result.run}/BUG-002`);
  });

  it('and the work tree of work that was done is gone, which is a critical error, and no success', async () => {
    const project = crashed();
    rmSync(join(project.folder, 'agent_runs/worktrees'), { recursive: true });
    const { result } = await runOver(project, { process: succeeds });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: [] });
    expect(result.incidents).toContainEqual(
      expect.objectContaining({ kind: 'critical_error', message: 'the work tree of BUG-002 is gone' }),
    );
    expect(project.has('bugs/BUG-002-bug-2')).toBe(true);
  });

  it('by a run of several items, although it worked in the project itself', async () => {
    const project = projectWith(2);
    project.write('done.txt', 'done');
    change(withState(project, 'before'), {
      current_phase: 'archiving',
      current_item: 'BUG-001',
      iteration_count: 1,
      in_progress: [{ id: 'BUG-001', phase: 'archiving' }],
      concurrency: 1,
      tried: ['BUG-001'],
      changed: ['done.txt'],
    });
    const { result } = await runOver(project, { process: succeeds }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001', 'BUG-002'], failures: [] });
    expect(project.git('show', 'HEAD~1:done.txt')).toBe('done');
  });

  it('from the state file of an earlier version, which lists no items in progress', async () => {
    const project = withState(projectWith(2), 'before');
    const { in_progress: _, concurrency: __, ...earlier } = project.state;
    project.write(
      '.agent-state.json',
      JSON.stringify({ ...earlier, current_phase: 'testing', current_item: 'BUG-001', tried: ['BUG-001'] }),
    );
    const { result } = await runOver(project, { process: succeeds });
    expect(result.failures).toMatchObject([{ id: 'BUG-001', phase: 'testing', slugs: ['interrupted'] }]);
    expect(result.succeeded).toEqual(['BUG-002']);
  });
});

/** Writes the state of a run that has just begun. */
function withState(project: TestBacklog, run: string): TestBacklog {
  project.write(
    '.agent-state.json',
    JSON.stringify({
      run,
      current_phase: 'scanning',
      current_item: null,
      iteration_count: 0,
      failure_count: 0,
      last_failures: [],
      early_exit_triggered: false,
      early_exit_reason: null,
      in_progress: [],
      concurrency: 1,
    }),
  );
  return project;
}

describe('W-1: a work tree that an agent removed', () => {
  it.each(['processing', 'testing'])('in %s is a critical error, and no success', async (phase) => {
    const project = projectWith(1);
    const removes: WorkFunction = ({ root, phase: present }) => {
      if (present === phase) rmSync(root, { recursive: true });
      return { status: 'succeeded' };
    };
    const agents = { process: removes, ...(phase === 'testing' && { test: removes }) };
    const { result } = await runOver(project, agents, { limits: { concurrency: 2 } });
    expect(result.incidents).toMatchObject([{ kind: 'critical_error', message: 'the work tree of BUG-001 is gone' }]);
    expect(result.succeeded).toEqual([]);
    expect(existsSync(join(project.folder, 'bugs/BUG-001-bug-1'))).toBe(true);
  });

  it('before it is tested is a critical error, too', async () => {
    const project = projectWith(1);
    const process: WorkFunction = ({ root }) => {
      writeFileSync(join(root, 'work.txt'), 'work');
      rmSync(root, { recursive: true });
      return { status: 'succeeded' };
    };
    const { result } = await runOver(project, { process, test: succeeds }, { limits: { concurrency: 2 } });
    expect(result.incidents).toMatchObject([{ kind: 'critical_error', phase: 'testing', item: 'BUG-001' }]);
  });
});
