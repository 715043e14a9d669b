import { mkdirSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import type { WorkFunction } from '../../src/workflow/index.ts';

import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

function withBug(over: Record<string, unknown> = {}): TestBacklog {
  const backlog = new TestBacklog();
  backlog.bug(1, over);
  return backlog;
}

describe('W-4: interrupted archiving', () => {
  const state = (backlog: TestBacklog) =>
    backlog.write(
      '.agent-state.json',
      JSON.stringify({
        run: 'before',
        current_phase: 'archiving',
        current_item: 'BUG-001',
        iteration_count: 1,
        failure_count: 0,
        last_failures: [],
        early_exit_triggered: false,
        early_exit_reason: null,
      }),
    );

  it('is completed wherever it was interrupted', async () => {
    for (const place of ['bugs', 'completed']) {
      const backlog = new TestBacklog();
      backlog.write('bugs/bugs.md', '| ID | Title | Status |\n| --- | --- | --- |\n| BUG-001 | It | new | own |\n');
      backlog.write(`${place}/BUG-001-it/bug_report.json`, '{"title": "It"}');
      state(backlog);
      const { result } = await runOver(backlog, { process: succeeds });
      expect(result).toMatchObject({ run: 'before', status: 'completed', succeeded: ['BUG-001'], failures: [] });
      expect(backlog.json('completed/BUG-001-it/bug_report.json').status).toBe('completed');
      // An extra cell is kept.
      expect(backlog.read('bugs/bugs.md')).toContain('| BUG-001 | It | completed | own |');
    }
  });

  it('is a critical error if it cannot be completed', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('completed/BUG-001-bug-1/bug_report.json', '{}');
    state(backlog);
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: [] });
    expect(result.incidents.map(({ kind }) => kind)).toEqual(['crash', 'critical_error']);
  });

  it.each([
    ['an unknown phase', { current_phase: 'foo' }],
    ['an invalid incident', { incidents: [{}] }],
    ['a run that is not a folder name', { run: '../../elsewhere' }],
  ])('%s makes the state file corrupt', async (_, over) => {
    const backlog = withBug();
    state(backlog);
    backlog.write('.agent-state.json', JSON.stringify({ ...backlog.state, ...over }));
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.created).toMatchObject([{ title: 'Session failure: Critical error in restoring' }]);
    expect(backlog.list('.').filter((name) => name.startsWith('.agent-state.json.kept-'))).toHaveLength(1);
  });

  it('an incident that an earlier version wrote has as many failures in a row as it lists', async () => {
    const backlog = withBug();
    state(backlog);
    const failure = {
      id: 'BUG-009',
      folder: 'bugs/BUG-009',
      component: null,
      phase: 'testing',
      slugs: [],
      message: '',
    };
    const incidents = [{ kind: 'consecutive_failures', failures: [{ ...failure, requests: 1 }] }];
    backlog.write('.agent-state.json', JSON.stringify({ ...backlog.state, incidents }));
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.incidents[0]).toMatchObject({ kind: 'consecutive_failures', count: 1 });
  });

  it("a folder in place of the state file is set aside, as is another tool's state file, and that run continues", async () => {
    const backlog = withBug();
    mkdirSync(`${backlog.folder}/.agent-state.json`);
    expect((await runOver(backlog, { process: succeeds })).result.status).toBe('exitedEarly');
    const { run: _, ...foreign } = { ...backlog.state, current_phase: 'phase_2' };
    backlog.write('.agent-state.json', JSON.stringify(foreign));
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.status).toBe('completed');
    expect(result.problems).toEqual([
      expect.stringContaining('The state file belonged to another tool: it was in phase_2'),
    ]);
  });

  it("another tool's state file tells a person where it was, and the run what failed last", async () => {
    const backlog = withBug();
    for (const number of [2, 3, 4]) backlog.bug(number);
    backlog.write(
      '.agent-state.json',
      JSON.stringify({
        current_phase: 'implementation',
        current_item: 'BUG-003',
        iteration_count: 7,
        failure_count: 2,
        last_failures: ['bug-001', { item_id: 'BUG-002', error: 'tests fail' }, 5, null],
        early_exit_triggered: true,
        early_exit_reason: 'too many failures',
        // Its own fields, which Pawl uses for something else.
        failures: 2,
        run: 7,
        changed: 3,
      }),
    );
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.succeeded).toEqual(['BUG-003', 'BUG-004', 'BUG-001', 'BUG-002']);
    expect(result.problems).toEqual([
      expect.stringContaining(
        'it was in implementation of BUG-003, with 2 failures in a row, early exit: too many failures. It is kept as',
      ),
    ]);
  });
});
