import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOver, TestBacklog } from '../support/backlog.ts';

const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/** Creates a backlog of five committed bugs in which runs commit their changes. */
function backlogOfFive(): TestBacklog {
  const backlog = new TestBacklog();
  for (const number of [1, 2, 3, 4, 5]) backlog.bug(number);
  backlog.write('.agent-config.json', '{"auto_commit": true}');
  backlog.git('add', '--all');
  backlog.git('commit', '--quiet', '--message=All');
  return backlog;
}

/** Starts a run and kills it with SIGKILL in `phase`. */
function die(backlog: TestBacklog, phase: string): void {
  backlog.write('.git/own/git', `#!/bin/sh\n[ "$1" = "$PAWL_DIE_ON" ] && kill -9 $PPID\nexec ${realGit} "$@"\n`);
  chmodSync(join(backlog.folder, '.git/own/git'), 0o755);
  const { signal } = spawnSync(process.execPath, ['test/support/dying-run.ts', backlog.folder, phase], {
    env: { ...process.env, PATH: `${join(backlog.folder, '.git/own')}${delimiter}${process.env.PATH}` },
    stdio: 'inherit',
  });
  expect(signal).toBe('SIGKILL');
}

const goOn = (backlog: TestBacklog) => runOver(backlog, { process: () => ({ status: 'succeeded' }) });

const titles = (backlog: TestBacklog) =>
  backlog
    .list('bugs')
    .flatMap((name) => (name.includes('session-failure') ? [backlog.json(`bugs/${name}/bug_report.json`).title] : []));

describe('W-4: a killed run resumes from its state file', () => {
  it.each(['processing', 'testing'] as const)(
    'in %s: the item counts as failed (interrupted), and the run continues',
    async (phase) => {
      const backlog = backlogOfFive();
      die(backlog, phase);
      const dead = backlog.state;
      expect(dead).toMatchObject({ current_phase: phase, current_item: 'BUG-001', iteration_count: 1 });
      const { result, events, report } = await goOn(backlog);
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'workflow.continued', run: dead.run, phase, item: 'BUG-001' }),
      );
      expect(result).toMatchObject({ run: dead.run, status: 'completed', iterations: 5, problems: [] });
      expect(result.failures).toMatchObject([{ id: 'BUG-001', phase, slugs: ['interrupted'] }]);
      expect(result.succeeded).toEqual(['BUG-002', 'BUG-003', 'BUG-004', 'BUG-005']);
      expect(result.created).toMatchObject([{ id: 'BUG-006', title: `Session failure: Critical error in ${phase}` }]);
      expect(backlog.json(`${result.created[0]?.folder}/bug_report.json`)).toMatchObject({
        priority: 'P1',
        reproducibility: 'intermittent',
      });
      expect(report).toContain('BUG-006');
      expect(backlog.has('bugs/BUG-001-bug-1')).toBe(true);
      // What was noted of it before is committed.
      expect(backlog.has('bugs/BUG-001-bug-1/comments.md')).toBe(phase === 'testing');
      expect(backlog.git('status', '--short', '--', 'bugs')).toBe('');
    },
  );

  it('in scanning: no item was in progress, so none counts as failed', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'scanning');
    const { result } = await goOn(backlog);
    expect(result).toMatchObject({ status: 'completed', iterations: 5, failures: [] });
    expect(result.created).toMatchObject([{ title: 'Session failure: Critical error in scanning' }]);
  });

  it('after the last agent and before archiving: the item was done, so it is archived, not worked on again', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'worked');
    expect(backlog.state).toMatchObject({ current_phase: 'archiving', current_item: 'BUG-001' });
    expect(backlog.has('bugs/BUG-001-bug-1')).toBe(true);
    const worked: string[] = [];
    const { result } = await runOver(backlog, {
      process: ({ item }) => {
        worked.push(item.id);
        return { status: 'succeeded' };
      },
    });
    expect(worked).toEqual(['BUG-002', 'BUG-003', 'BUG-004', 'BUG-005']);
    expect(result).toMatchObject({ status: 'completed', failures: [], problems: [] });
    expect(result.succeeded).toEqual(['BUG-001', ...worked]);
    expect(backlog.has('bugs/BUG-001-bug-1')).toBe(false);
  });

  it('in archiving: the item was done, so it is archived', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'archiving');
    expect(backlog.state).toMatchObject({ current_phase: 'archiving', current_item: 'BUG-001' });
    const { result } = await goOn(backlog);
    expect(result.incidents).toEqual([{ kind: 'crash', phase: 'archiving', item: 'BUG-001' }]);
    expect(result).toMatchObject({ status: 'completed', iterations: 5, failures: [] });
    expect(result.succeeded).toEqual(['BUG-001', 'BUG-002', 'BUG-003', 'BUG-004', 'BUG-005']);
    expect(backlog.list('completed')).toHaveLength(5);
  });

  it('in setting aside: the human action is not written a second time', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'settingAside');
    const { result } = await goOn(backlog);
    expect(result.failures).toMatchObject([{ id: 'BUG-002', phase: 'settingAside', slugs: ['interrupted'] }]);
    expect(backlog.list('human-actions').filter((name) => name.startsWith('ACTION'))).toHaveLength(1);
    // The items created before the crash are found again.
    expect(result.created.map(({ id }) => id)).toContain('ACTION-001');
    expect(result.succeeded).toEqual(['BUG-001', 'BUG-003', 'BUG-004', 'BUG-005']);
  });

  it('in capturing: the bug that was written is found again, and the run ends the same way', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'capturing');
    expect(titles(backlog)).toEqual(['Session failure: 3 consecutive item processing failures']);
    const { result, phases } = await goOn(backlog);
    expect(phases).toEqual(['restoring', 'capturing', 'reviewing', 'summarising']);
    expect(result).toMatchObject({
      status: 'exitedEarly',
      iterations: 5,
      succeeded: ['BUG-001'],
      setAside: ['BUG-002'],
    });
    expect(titles(backlog)).toEqual([
      'Session failure: 3 consecutive item processing failures',
      'Session failure: Critical error in capturing',
    ]);
    expect(result.created.map(({ id }) => id)).toEqual(['ACTION-001', 'BUG-006', 'BUG-007']);
  });

  it.each(['reviewing', 'summarising'] as const)(
    'in %s: both documents are written, and nothing is created twice',
    async (phase) => {
      const backlog = backlogOfFive();
      die(backlog, phase);
      expect(backlog.state.current_phase).toBe(phase);
      const { result, report } = await goOn(backlog);
      expect(result).toMatchObject({ status: 'exitedEarly', iterations: 5, problems: [] });
      expect(titles(backlog)).toEqual([
        'Session failure: 3 consecutive item processing failures',
        `Session failure: Critical error in ${phase}`,
      ]);
      expect(report).toContain('Session failure: 3 consecutive item processing failures');
    },
  );

  it('before anything is written: the next run starts fresh', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'restoring');
    const { result } = await goOn(backlog);
    expect(result).toMatchObject({ status: 'completed', iterations: 5, created: [], incidents: [] });
  });

  it('a crash that counts as the third failure in a row ends the run (W-1)', async () => {
    const backlog = backlogOfFive();
    die(backlog, 'processing');
    const failed = (id: string) => ({
      id,
      folder: `bugs/${id}`,
      component: null,
      phase: 'processing',
      slugs: [],
      message: 'no',
      requests: 1,
    });
    const failures = [failed('BUG-008'), failed('BUG-009')];
    backlog.write(
      '.agent-state.json',
      JSON.stringify({ ...backlog.state, failure_count: 2, last_failures: failures.map(({ id }) => id), failures }),
    );
    const { result } = await goOn(backlog);
    expect(result).toMatchObject({ status: 'exitedEarly', iterations: 1 });
    expect(result.incidents.map(({ kind }) => kind)).toEqual(['crash', 'consecutive_failures']);
    expect(result.incidents[1]).toMatchObject({ count: 3 });
  });
});
