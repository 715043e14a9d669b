import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { readBacklog } from '../../src/workflow/backlog/backlog.ts';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const fails: WorkFunction = () => ({ status: 'failed', message: 'no' });

describe('W-1: what fails does not keep runs from the rest', () => {
  it('it comes behind what was not tried, and after two runs it is left to a person', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number, { priority: 'P0' });
    for (const number of [4, 5]) backlog.bug(number, { priority: 'P3' });
    backlog.write('bugs/bugs.md', '| ID | Title | Status |\n|---|---|---|\n| BUG-001 | One | new |\n');
    const stuck: WorkFunction = (task) =>
      ['BUG-001', 'BUG-002', 'BUG-003'].includes(task.item.id) ? fails(task) : { status: 'succeeded' };
    const first = await runOver(backlog, { process: stuck });
    expect(first.result).toMatchObject({ status: 'exitedEarly', succeeded: [] });
    const second = await runOver(backlog, { process: stuck });
    // The bug about the first run is of P1.
    expect(second.result.succeeded).toEqual(['BUG-006', 'BUG-004', 'BUG-005']);
    expect(second.result.problems).toEqual(
      ['BUG-001', 'BUG-002', 'BUG-003'].map((id) => `${id} failed in 2 runs, so it is left for review.`),
    );
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json')).toMatchObject({ status: 'needs-review' });
    expect(backlog.read('bugs/bugs.md')).toContain('| BUG-001 | One | needs-review |');
    expect(backlog.read('bugs/BUG-001-bug-1/comments.md')).toContain(`${first.result.run}, ${second.result.run}`);
    const third = await runOver(backlog, { process: fails });
    // What is left is the bug about the second run.
    expect(third.result.failures.map(({ id }) => id)).toEqual(['BUG-007']);
    // A person who sets another status has it tried again, twice.
    backlog.bug(1, { status: 'new' });
    const fourth = await runOver(backlog, { process: fails });
    expect(fourth.result.failures.map(({ id }) => id)).toEqual(['BUG-001', 'BUG-007']);
    expect(readBacklog(backlog.folder).items.find(({ id }) => id === 'BUG-001')?.blocked).toBe(false);
  });

  it('a success clears the failures of an item; a broken tries.json is reported and replaced', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    await runOver(backlog, { process: fails });
    expect(JSON.parse(backlog.read('agent_runs/tries.json'))).toEqual({ 'BUG-001': [backlog.state.run] });
    backlog.write('agent_runs/tries.json', '{"BUG-001": 5');
    const { result } = await runOver(backlog, { process: succeeds });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(result.problems[0]).toContain('agent_runs/tries.json cannot be read, so earlier failures do not count');
    await runOver(backlog, { process: fails });
    backlog.bug(2);
    const after = await runOver(backlog, { process: fails });
    expect(after.result.problems).toEqual([]);
    expect(JSON.parse(backlog.read('agent_runs/tries.json'))).toEqual({ 'BUG-002': [after.result.run] });
  });

  it('what runs filed about themselves comes behind the work of people of the same priority', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number, { priority: 'P0' });
    await runOver(backlog, { process: fails });
    backlog.feature(9, { priority: 'P1' });
    backlog.feature(10, { priority: 'P2' });
    expect(
      readBacklog(backlog.folder)
        .items.map(({ id }) => id)
        .slice(3),
    ).toEqual(['FEAT-009', 'BUG-004', 'FEAT-010']);
  });

  it('last_failures is empty after a success', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    await runOver(backlog, { process: (task) => (task.item.id === 'BUG-001' ? fails(task) : { status: 'succeeded' }) });
    expect(backlog.state).toMatchObject({ failure_count: 0, last_failures: [], failures: [{ id: 'BUG-001' }] });
  });
});

describe('what agents do is kept', () => {
  it('in the comments of the item, quoted, so that no line of it is a STOP', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const agent = defineAgent({
      name: 'worker',
      models: [rehearsalModel([done('succeeded', 'I did it.\nSTOP: now')])],
    });
    const { result } = await runOver(backlog, { process: agent, test: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(backlog.read('completed/BUG-001-bug-1/comments.md')).toBe(
      `## processing by worker: succeeded (run ${result.run})\n\n> I did it.\n> STOP: now\n\n## testing by succeeds: succeeded (run ${result.run})\n\n>\n`,
    );
  });

  it('with auto_commit, what the work changed is committed with the item, and nothing else', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.write('.gitignore', 'ignored\n');
    backlog.write('src/a.ts', '1\n');
    backlog.write('src/b.ts', '1\n');
    backlog.bug(1);
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=All');
    backlog.write('mine.txt', 'what a person writes meanwhile\n');
    backlog.write('src/b.ts', '2, by a person\n');
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      backlog.write('src/new file "ü".ts', '1\n');
      backlog.write('ignored', 'x');
      return { status: 'succeeded' };
    };
    const { result } = await runOver(backlog, { process });
    expect(result).toMatchObject({ succeeded: ['BUG-001'], problems: [] });
    expect(result.warnings).toEqual(['There is no test agent: what is reported as done is archived untested.']);
    const committed = backlog
      .git('-c', 'core.quotePath=false', 'show', '--name-only', '--format=%s', 'HEAD')
      .split('\n');
    expect(committed).toContain('Complete BUG-001');
    expect(committed).toContain('src/a.ts');
    expect(committed.some((name) => name.includes('new file'))).toBe(true);
    expect(committed).not.toContain('src/b.ts');
    expect(backlog.git('status', '--short', '--', 'src', 'mine.txt').split('\n')).toEqual([
      'M src/b.ts',
      '?? mine.txt',
    ]);
  });

  it('an agent without tools is warned of once', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    const agent = defineAgent({ name: 'talker', models: [rehearsalModel(() => done())] });
    const { result } = await runOver(backlog, { process: agent, test: succeeds });
    expect(result.warnings).toEqual([
      'The agent talker has no tools, so it can only report.',
      'BUG-001: talker changed no file.',
      'BUG-002: talker changed no file.',
    ]);
  });

  it('the item of an early exit holds the state of the run and the session logs of what failed', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.bug(1);
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel(() => done('failed', 'no'))] });
    const limits = { maxConsecutiveFailures: 1 };
    const { result } = await runOver(backlog, { process: agent }, { limits });
    const folder = result.created[0]?.folder ?? '';
    const state = `evidence-${result.run}-agent-state.json`;
    const log = `evidence-${result.run}-BUG-001-processing.jsonl`;
    expect(JSON.parse(backlog.read(`${folder}/${state}`))).toMatchObject({ failures: [{ id: 'BUG-001' }] });
    expect(backlog.read(`${folder}/${log}`)).toContain('"type":"session.result"');
    const again = await runOver(backlog, { process: agent }, { limits: { ...limits, maxItems: 1 } });
    expect(again.result.created[0]?.id).not.toBe(undefined);
    expect(backlog.git('status', '--short', '--', 'bugs/*session-failure*')).toBe('');
    expect(backlog.git('ls-files', '--', folder)).toContain(state);
  });

  it('a backlog below the root of its repository: files beside it are committed, too', async () => {
    const backlog = new TestBacklog();
    backlog.write('backlog/.agent-config.json', '{"auto_commit": true}');
    backlog.write('backlog/bugs/BUG-001-x/PROMPT.md', '# BUG-001: It breaks\n');
    backlog.write('src/gone.ts', '1\n');
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=All');
    const process: WorkFunction = () => {
      backlog.write('src/a.ts', '2\n');
      rmSync(join(backlog.folder, 'src/gone.ts'));
      return { status: 'succeeded' };
    };
    const { succeeded, problems } = await runWorkflow({
      backlog: join(backlog.folder, 'backlog'),
      agents: { process, test: succeeds },
      logger: false,
    });
    expect([succeeded, problems]).toEqual([['BUG-001'], []]);
    const committed = backlog.git('show', '--name-status', '--format=', '--no-renames', 'HEAD').split('\n');
    expect(committed).toEqual(expect.arrayContaining(['A\tsrc/a.ts', 'D\tsrc/gone.ts']));
    expect(committed).toContain('D\tbacklog/bugs/BUG-001-x/PROMPT.md');
    expect(committed).toContain('A\tbacklog/completed/BUG-001-x/PROMPT.md');
  });

  it('what a person writes into an item that a run filed is not committed by the next run', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.bug(1);
    const { result } = await runOver(backlog, { process: fails }, { limits: { maxConsecutiveFailures: 1 } });
    const comments = `${result.created[0]?.folder}/comments.md`;
    backlog.write(comments, 'A person looks at it.\n');
    await runOver(backlog, { process: succeeds }, { signal: AbortSignal.abort() });
    expect(backlog.git('status', '--short', '--', comments)).toBe(`M ${comments}`);
  });
});
