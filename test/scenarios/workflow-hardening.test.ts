import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { createWorkItem, runWorkflow, type WorkFunction, type WorkItemInput } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const bug = (over: Partial<WorkItemInput> = {}) =>
  ({ item_type: 'bug', title: 'Hello', component: 'core', description: 'It is broken.', ...over }) as WorkItemInput;

function reporting(content: unknown, format: 'text' | 'json' = 'text') {
  const models = [rehearsalModel([{ calls: [{ name: 'final_report', input: { content } }] }])];
  return defineAgent({ name: 'reporter', models, report: { format } });
}

function withBug(over: Record<string, unknown> = {}): TestBacklog {
  const backlog = new TestBacklog();
  backlog.bug(1, over);
  return backlog;
}

describe('W-1: verdicts of agents are recognized in every form', () => {
  it.each([
    ['text', '{"status":"failed","reason":"3 tests fail"}'],
    ['fenced text', '```json\n{"status": "FAILED"}\n```'],
    ['an object', { status: 'Failure' }, 'json'],
    ['an object with an unknown status', { status: 'partly' }, 'json'],
  ] as const)('a test agent that reports failure as %s fails the item', async (_, content, format?: 'json') => {
    const { result } = await runOver(withBug(), { process: succeeds, test: reporting(content, format) });
    expect(result).toMatchObject({ succeeded: [], failures: [{ id: 'BUG-001', phase: 'testing' }] });
  });

  it('text without a verdict is a success, and a scan order may be text', async () => {
    const backlog = withBug();
    backlog.bug(2);
    const scan = reporting('{"order": ["BUG-002"]}');
    const { result } = await runOver(backlog, { scan, process: succeeds, test: reporting('All 12 tests pass.') });
    expect(result.succeeded[0]).toBe('BUG-002');
  });
});

describe('W-1 W-2: items that agents change during a run', () => {
  const folder = 'bugs/BUG-001-bug-1';
  const writing =
    (backlog: TestBacklog, text: string, status: 'succeeded' | 'blocked' = 'succeeded'): WorkFunction =>
    () => {
      backlog.write(`${folder}/bug_report.json`, text);
      return { status, message: 'buy the licence' };
    };

  it('an item that its agent marks as resolved is still tested and archived', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status": "resolved"}'), test: succeeds });
    expect(result).toMatchObject({ succeeded: ['BUG-001'], failures: [], problems: [] });
    expect(backlog.json('completed/BUG-001-bug-1/bug_report.json').status).toBe('completed');
  });

  it('an item whose report file was corrupted by its agent is archived unchanged', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status') });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(backlog.read('completed/BUG-001-bug-1/bug_report.json')).toBe('{"status');
  });

  it('a missing item is a critical error, not a success', async () => {
    const backlog = withBug();
    const { rmSync } = await import('node:fs');
    const { result } = await runOver(backlog, {
      process: () => {
        rmSync(`${backlog.folder}/${folder}`, { recursive: true });
        return { status: 'succeeded' };
      },
    });
    expect(result).toMatchObject({
      succeeded: [],
      incidents: [{ kind: 'critical_error', message: `${folder} is gone` }],
    });
  });

  it('a human action is written for a blocked item even if the item cannot be marked', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, { process: writing(backlog, '{"status', 'blocked') });
    expect(result.created).toMatchObject([{ id: 'ACTION-001', title: 'Unblock BUG-001: buy the licence' }]);
    expect(result.problems).toEqual(['BUG-001 could not be read, so it is not marked as blocked by ACTION-001']);
  });

  it('a git failure while an item is set aside is a critical error, and the human action is still listed', async () => {
    const backlog = withBug();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho not today >&2\nexit 1\n');
    chmodSync(`${backlog.folder}/.git/hooks/pre-commit`, 0o755);
    const { result } = await runOver(backlog, { process: () => ({ status: 'blocked', message: 'buy it' }) });
    expect(result.incidents).toMatchObject([{ kind: 'critical_error', phase: 'settingAside' }]);
    expect(result.created.map(({ id }) => id)).toEqual(expect.arrayContaining(['ACTION-001', 'BUG-002']));
  });

  it('items that agents create are listed but not processed by the same run, so that it ends', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, {
      process: async ({ item }) => {
        await createWorkItem(backlog.folder, bug({ title: `Found while at ${item.id}` }));
        return { status: 'succeeded' };
      },
    });
    expect(result).toMatchObject({ iterations: 1, succeeded: ['BUG-001'] });
    expect(result.created).toMatchObject([{ id: 'BUG-002', why: 'created during the run' }]);
  });

  it('a STOP in an item that succeeds is listed with its archived path', async () => {
    const backlog = withBug();
    const { result } = await runOver(backlog, {
      process: () => {
        backlog.write(`${folder}/comments.md`, 'STOP: next year\r\nComponent: \r\n');
        return { status: 'succeeded' };
      },
    });
    const feature = backlog.json(`${result.created[0]?.folder}/feature_request.json`);
    expect(feature.title).toBe('User-requested work: next year');
    expect(feature.evidence[0]?.location).toBe('completed/BUG-001-bug-1/comments.md');
    expect(backlog.has(feature.evidence[0]?.location ?? '')).toBe(true);
  });
});

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

  it('a folder in place of the state file is set aside; so is the state file of another tool, and that run continues', async () => {
    const backlog = withBug();
    mkdirSync(`${backlog.folder}/.agent-state.json`);
    expect((await runOver(backlog, { process: succeeds })).result.status).toBe('exitedEarly');
    const { run: _, ...foreign } = { ...backlog.state, current_phase: 'phase_2' };
    backlog.write('.agent-state.json', JSON.stringify(foreign));
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.status).toBe('completed');
    expect(result.problems).toEqual([
      expect.stringContaining('The state file belonged to another tool; it is kept as'),
    ]);
  });
});

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
    backlog.bug(5);
    mkdirSync(`${backlog.folder}/bugs/BUG-005-bug-5/comments.md`);
    const { result, report } = await runOver(backlog, { process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-003', 'BUG-004'] });
    expect(report).toContain('bugs/BUG-004-twin: completed/BUG-004-marked has the id BUG-004 too');
    expect(report).toMatch(/bugs\/BUG-005-bug-5: .*comments\.md.*EISDIR|bugs\/BUG-005-bug-5: EISDIR.*comments\.md/);
  });
});

describe('W-3: faulty user code and options break nothing', () => {
  it('observers that reject are reported once, and random may throw', async () => {
    const backlog = withBug();
    let time = 0;
    const { result, warnings } = await runOver(
      backlog,
      { process: () => ({ status: 'unavailable', message: 'no' }) },
      {
        random: () => {
          throw new Error('no dice');
        },
        onEvent: () => {
          time += 1;
          return time % 2 === 0 ? Promise.reject(new Error('no pager')) : undefined;
        },
      },
    );
    expect(result.created).toMatchObject([{ title: 'Session failure: Unable to invoke process' }]);
    expect(warnings.filter((line) => line.event === 'observer.failed')).toHaveLength(1);
  });

  it.each([
    ['an agent that never loads', { name: 'slow', load: () => new Promise<never>(() => undefined) }],
    ['a function that never ends', () => new Promise<never>(() => undefined)],
  ])('an abort ends %s, and the report states the reason', async (_, process) => {
    const backlog = withBug();
    const ending = new AbortController();
    const onEvent = (event: { type: string; phase?: string }) => {
      if (event.type === 'phase.started' && event.phase === 'processing')
        setImmediate(() => ending.abort(new Error('home time')));
    };
    const { result, report } = await runOver(backlog, { process }, { signal: ending.signal, onEvent });
    expect(result).toMatchObject({ status: 'exitedEarly', abortReason: 'home time', failures: [], created: [] });
    expect(report).toContain('The run exited early: home time.');
    expect(report).toContain('| BUG-001 | in progress when the run ended |');
    expect(backlog.state).toMatchObject({ early_exit_triggered: true, early_exit_reason: 'home time' });
  });

  it.each([
    [{ logger: 5 }, '`logger` must be a pino logger; got 5.'],
    [{ clock: {} }, '`clock` must be a clock: { now, sleepUntil, alarm }; got {}.'],
  ])('%o is refused', async (over, message) => {
    const options = { backlog: withBug().folder, agents: { process: succeeds }, ...over };
    await expect(runWorkflow(options as never)).rejects.toThrow(message);
  });

  it('S-5: credentials in an error reach no file, and long messages are cut', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const { result } = await runOver(backlog, {
      process: () => {
        throw new Error(`401 for Bearer sk-ant-api03-SECRET0123456789 ${'and more '.repeat(100_000)}`);
      },
    });
    const prompt = backlog.read(`${result.created[0]?.folder}/PROMPT.md`);
    expect(prompt + backlog.read('.agent-state.json')).not.toContain('SECRET');
    expect(prompt.length).toBeLessThan(40_000);
  });

  it('messages of several lines and long names still produce an item', async () => {
    const backlog = withBug();
    const blocked = await runOver(backlog, {
      process: () => ({ status: 'blocked', message: 'Buy a licence\r\nfrom acme' }),
    });
    expect(blocked.result.created).toMatchObject([{ title: 'Unblock BUG-001: Buy a licence' }]);
    backlog.bug(2);
    const load = () => {
      throw new Error('not there');
    };
    const { result } = await runOver(backlog, { process: { name: 'x'.repeat(300), load } });
    expect(result.problems).toEqual([]);
    expect(result.created[0]?.title).toHaveLength(200);
  });
});
