import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/testing/index.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { projectWith, together } from '../support/project.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('W-1: with auto_commit, a run warns of uncommitted changes at its end', () => {
  const changing = () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.bug(1);
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      return { status: 'succeeded' };
    };
    return { backlog, process };
  };
  const left = (id: string, files: string) => `${id} was not completed. These changes were not committed: ${files}`;

  it('whether the work or the test failed, or the item is blocked', async () => {
    const { backlog } = changing();
    for (const number of [2, 3, 4]) backlog.bug(number);
    const process: WorkFunction = ({ item }) => {
      if (item.id === 'BUG-002') return { status: 'succeeded' };
      backlog.write(`src/${item.id}.ts`, '2\n');
      // What is in the item's folder is committed with its comment.
      backlog.write(`${item.folder}/analysis.md`, 'Found it.\n');
      if (item.id === 'BUG-001') return { status: 'failed' };
      return item.id === 'BUG-004' ? { status: 'blocked', needs: 'a key' } : { status: 'succeeded' };
    };
    const test: WorkFunction = ({ item }) => {
      if (item.id !== 'BUG-003') return { status: 'succeeded' };
      backlog.write('test/found.txt', 'a defect\n');
      return { status: 'failed' };
    };
    const { result, report, warnings } = await runOver(backlog, { process, test });
    expect(result.warnings).toEqual([
      'BUG-002: process changed no file.',
      left('BUG-001', 'src/BUG-001.ts'),
      left('BUG-003', 'src/BUG-003.ts, test/found.txt'),
      left('BUG-004', 'src/BUG-004.ts'),
    ]);
    for (const warning of result.warnings) expect(report).toContain(`- ${warning}`);
    expect(warnings.filter(({ event }) => event === 'workflow.warned')).toHaveLength(4);
    expect(backlog.git('log', '--format=', '--name-only', '--', 'src', 'test')).toBe('');
  });

  it.each<[string, WorkFunction]>([
    ['its tester is unavailable', () => ({ status: 'unavailable', message: 'no' })],
    ['its tester throws', () => Promise.reject(new Error('no'))],
  ])('when %s', async (_, test) => {
    const { backlog, process } = changing();
    const { result } = await runOver(backlog, { process, test });
    expect(result.warnings).toEqual([left('BUG-001', 'src/a.ts')]);
  });

  it('when the run is aborted while it waits for an agent', async () => {
    const { backlog, process } = changing();
    const controller = new AbortController();
    const test: WorkFunction = () => ({ status: 'unavailable', message: 'no' });
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'wait.started') controller.abort('enough');
    };
    const { result } = await runOver(backlog, { process, test }, { signal: controller.signal, onEvent });
    expect(result).toMatchObject({ abortReason: 'enough', warnings: [left('BUG-001', 'src/a.ts')] });
  });

  it('in a repository without a commit', async () => {
    const { backlog } = changing();
    backlog.git('update-ref', '-d', 'HEAD');
    const controller = new AbortController();
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      controller.abort('enough');
      return { status: 'failed' };
    };
    const { result } = await runOver(backlog, { process, test: succeeds }, { signal: controller.signal });
    expect(result.warnings).toContainEqual(left('BUG-001', 'src/a.ts'));
  });

  it('when the budget is spent before the test', async () => {
    const { backlog, process } = changing();
    let now = 0;
    const clock = { ...manualClock(), now: () => now };
    const late: WorkFunction = async (task) => {
      now = 2_000;
      return process(task);
    };
    const budget = { wallClockMs: 1_000 };
    const { result } = await runOver(backlog, { process: late, test: succeeds }, { budget, clock });
    expect(result.warnings).toEqual([left('BUG-001', 'src/a.ts')]);
  });

  it('when something fails after the work', async () => {
    const { backlog } = changing();
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      backlog.write('agent_runs/in-progress.json/in-the-way', '');
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process, test: succeeds });
    expect(result).toMatchObject({ succeeded: [], warnings: [left('BUG-001', 'src/a.ts')] });
  });

  it('after the work on several items was merged, and each of them could not be committed', async () => {
    const backlog = projectWith(2);
    backlog.write('features/FEAT-003-x/PROMPT.md', '# X\n');
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=A feature');
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho "no commit today" >&2\nexit 1\n');
    chmodSync(join(backlog.folder, '.git/hooks/pre-commit'), 0o755);
    const all = together(3);
    const process: WorkFunction = async ({ item, root }) => {
      await all();
      writeFileSync(join(root, `${item.id}.txt`), 'done');
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 3 } });
    const ids = ['BUG-001', 'BUG-002', 'FEAT-003'];
    expect(result.warnings.slice(1)).toEqual(ids.map((id) => left(id, `${id}.txt`)));
    // The same error on each is filed once.
    expect(result.incidents).toMatchObject(ids.map((item) => ({ kind: 'critical_error', phase: 'archiving', item })));
    expect(new Set(result.created.map(({ id }) => id)).size).toBe(1);
    for (const id of ids) expect(result.report).toContain(`### Critical error in archiving (${id})`);
  });

  it('but not what the tester committed or took back, nor without auto_commit', async () => {
    for (const [autoCommit, undo] of [
      [true, (backlog: TestBacklog) => backlog.git('add', 'src')],
      [true, (backlog: TestBacklog) => rmSync(join(backlog.folder, 'src'), { recursive: true })],
      [false, () => undefined],
    ] as const) {
      const { backlog, process } = changing();
      if (!autoCommit) backlog.write('.agent-config.json', '{}');
      const test: WorkFunction = () => {
        if (undo(backlog) === '') backlog.git('commit', '--quiet', '--message=Mine');
        return { status: 'failed' };
      };
      const { result } = await runOver(backlog, { process, test });
      expect(result.warnings).toEqual([]);
    }
  });

  it('and of those that it cannot commit, since git cannot list them', async () => {
    const { backlog } = changing();
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      execFileSync('git', ['init', '--quiet', 'nested'], { cwd: backlog.folder });
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process, test: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(result.warnings).toEqual([
      expect.stringMatching(/^Cannot determine which files agents change, so they are not committed: .*nested/s),
    ]);
  });

  it('and of files whose names are not UTF-8', async () => {
    const { backlog } = changing();
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      writeFileSync(Buffer.concat([Buffer.from(`${backlog.folder}/src/caf`), Buffer.from([0xe9])]), '1\n');
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process, test: succeeds });
    expect(result.warnings).toEqual(['Files whose names are not UTF-8 are not committed: src/caf\uFFFD']);
    expect(backlog.git('show', '--format=', '--name-only', 'HEAD').split('\n')).toContain('src/a.ts');
  });
});
