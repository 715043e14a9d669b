import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import { runOver, TestBacklog, type TestRun } from '../support/backlog.ts';
import { report, wireModel } from '../support/session.ts';

/** Starts a model server with `script` and defines an agent that uses it. */
async function agentOver(script: ServerScript, over: Partial<AgentDefinition> = {}) {
  const server = await startModelServer(script);
  const models = [wireModel('openai', server.url)];
  const agent = defineAgent({ name: 'worker', models, limits: { maxTurns: 1, maxRetries: 2 }, ...over });
  return { agent, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const silence: ServerScript = () => ({ text: '' });

async function threeFailures(): Promise<{ backlog: TestBacklog; run: TestRun; requests: number }> {
  const backlog = new TestBacklog();
  for (const number of [1, 2, 3, 4]) backlog.bug(number, { component: `part-${number}` });
  await using worker = await agentOver(silence);
  const run = await runOver(backlog, { process: worker.agent });
  return { backlog, run, requests: worker.server.requests.length };
}

describe('test case 1: three consecutive failures (W-1, W-2)', () => {
  it('detects three consecutive failures and triggers the early exit', async () => {
    const { run, requests } = await threeFailures();
    expect(run.result).toMatchObject({ status: 'exitedEarly', iterations: 3, succeeded: [], problems: [] });
    expect(run.result.failures.map(({ id, phase, slugs }) => [id, phase, slugs[0]])).toEqual([
      ['BUG-001', 'processing', 'retries_exhausted'],
      ['BUG-002', 'processing', 'retries_exhausted'],
      ['BUG-003', 'processing', 'retries_exhausted'],
    ]);
    // Exactly three sessions of two attempts each.
    expect(requests).toBe(6);
    expect(run.result.spending).toMatchObject({ sessions: 3, requests: 6 });
    expect(run.errors).toMatchObject([{ reason: '3 consecutive item processing failures' }]);
    expect(run.warnings.filter((line) => line.event === 'item.failed').map((line) => line.failureCount)).toEqual([
      1, 2, 3,
    ]);
  });

  it('.agent-state.json tracks failure_count and the early_exit fields', async () => {
    const { backlog } = await threeFailures();
    expect(backlog.state).toMatchObject({
      current_phase: 'exitedEarly',
      current_item: 'BUG-003',
      iteration_count: 3,
      failure_count: 3,
      last_failures: ['BUG-001', 'BUG-002', 'BUG-003'],
      early_exit_triggered: true,
      early_exit_reason: '3 consecutive item processing failures',
    });
  });

  it('the bug has the title, priority P1, the component of the last item and the evidence', async () => {
    const { backlog, run } = await threeFailures();
    const [created] = run.result.created;
    expect(run.result.created).toHaveLength(1);
    const bug = backlog.json(`${created?.folder}/bug_report.json`);
    expect(bug).toMatchObject({
      bug_id: 'BUG-005',
      title: 'Session failure: 3 consecutive item processing failures',
      priority: 'P1',
      component: 'part-3',
      severity: 'high',
    });
    const locations = bug.evidence.map((one) => one.location);
    for (const place of ['bugs/BUG-001-bug-1', 'bugs/BUG-002-bug-2', 'bugs/BUG-003-bug-3', '.agent-state.json']) {
      expect(locations).toContain(place);
    }
    expect(locations).toContain(`agent_runs/${run.result.run}/`);
    expect(locations.filter((text) => text.includes('retries_exhausted'))).toHaveLength(3);
    expect(backlog.read('bugs/bugs.md')).toContain(
      '| BUG-005 | Session failure: 3 consecutive item processing failures |',
    );
  });

  it('PROMPT.md holds the debugging context: attempts, reasons, counts, the state with git, and the next steps', async () => {
    const { backlog, run } = await threeFailures();
    const prompt = backlog.read(`${run.result.created[0]?.folder}/PROMPT.md`);
    for (const part of [
      '## What was attempted',
      'BUG-003, up to processing',
      '## Why it failed',
      '`retries_exhausted`, `max_turns_exhausted`, `empty_response`',
      'Failed attempts by reason: empty_response x 2',
      '## How many attempts',
      'BUG-001: 1 session, 2 LLM requests',
      '## State at failure',
      '"failure_count": 3',
      '## main',
      '?? bugs/',
      '## Next steps',
    ]) {
      expect(prompt).toContain(part);
    }
  });

  it('the run folder holds the session logs, with one JSON object per line', async () => {
    const { backlog, run } = await threeFailures();
    const lines = backlog.read(`agent_runs/${run.result.run}/BUG-002-processing.jsonl`).trim().split('\n');
    const types = lines.map((line) => JSON.parse(line).type);
    expect(types.filter((type) => type === 'attempt.failed')).toHaveLength(2);
    expect(types.at(-1)).toBe('session.result');
  });

  it('the retrospective and the summary still run and name the bug', async () => {
    const { run } = await threeFailures();
    expect(run.phases.slice(-3)).toEqual(['capturing', 'reviewing', 'summarising']);
    expect(run.report).toContain('The run exited early: 3 consecutive item processing failures.');
    expect(run.report).toMatch(/## Issues Created\n\n- BUG-005/);
    expect(run.retrospective).toContain('failed with retries_exhausted: 3');
  });

  it('a success resets the count (W-1)', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3, 4, 5]) backlog.bug(number);
    const run = await runOver(backlog, {
      process: ({ item }) => ({ status: item.id === 'BUG-003' ? 'succeeded' : 'failed', message: 'no' }),
    });
    expect(run.result).toMatchObject({ status: 'completed', iterations: 5, succeeded: ['BUG-003'], created: [] });
    expect(backlog.state).toMatchObject({ failure_count: 2, early_exit_triggered: false, early_exit_reason: null });
  });
});

describe('test case 2: an explicit STOP (W-1, W-2)', () => {
  const comments =
    '# Comments\n\n## Today\n\n**STOP**: build an export to CSV first\n\nWith a header line.\nComponent: export\n';

  it('a STOP in the comments of an item ends the run before any item starts, and its request becomes a feature', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2, {}, comments);
    backlog.feature(4);
    await using worker = await agentOver(() => report());
    const run = await runOver(backlog, { process: worker.agent });
    expect(worker.server.requests).toEqual([]);
    expect(run.result).toMatchObject({ status: 'exitedEarly', iterations: 0, problems: [] });
    const [created] = run.result.created;
    expect(created).toMatchObject({ id: 'FEAT-005', title: 'User-requested work: build an export to CSV first' });
    expect(backlog.json(`${created?.folder}/feature_request.json`)).toMatchObject({
      priority: 'P1',
      component: 'export',
      request: 'build an export to CSV first\n\nWith a header line.',
    });
    const prompt = backlog.read(`${created?.folder}/PROMPT.md`);
    expect(prompt).toContain('With a header line.');
    expect(prompt).toContain('bugs/BUG-002-bug-2/comments.md');
    expect(backlog.state.early_exit_reason).toBe('STOP in bugs/BUG-002-bug-2/comments.md');
    expect(run.report).toContain('FEAT-005');
  });

  it('a STOP without a request in the comments of the backlog becomes a human action', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('comments.md', 'STOP\n');
    const run = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    const [created] = run.result.created;
    expect(created).toMatchObject({ id: 'ACTION-001', title: 'Run stopped without a request: STOP in comments.md' });
    expect(backlog.json(`${created?.folder}/action_report.json`)).toMatchObject({ priority: 'P1' });
    expect(backlog.has(`${created?.folder}/INSTRUCTIONS.md`)).toBe(true);
    expect(backlog.read('human-actions/actions.md')).toContain('ACTION-001');
  });

  it('a STOP added while an item is in progress ends the run after that item', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    const run = await runOver(backlog, {
      process: () => {
        backlog.write(`agent_runs/${backlog.state.run}/comments.md`, '- STOP: the freeze begins\n');
        return { status: 'succeeded' };
      },
    });
    expect(run.result).toMatchObject({ status: 'exitedEarly', succeeded: ['BUG-001'] });
    expect(run.result.created).toMatchObject([{ title: 'User-requested work: the freeze begins' }]);
  });
});

describe('test case 3: a critical error (W-1, W-2, W-4)', () => {
  it('a corrupt state file is kept and filed as a bug, and the run shuts down gracefully', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('.agent-state.json', '{"current_phase": "proc');
    const run = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    expect(run.result).toMatchObject({ status: 'exitedEarly', iterations: 0, problems: [] });
    const kept = backlog.list('.').find((name) => name.startsWith('.agent-state.json.kept-'));
    expect(backlog.read(kept ?? '')).toBe('{"current_phase": "proc');
    const [created] = run.result.created;
    const bug = backlog.json(`${created?.folder}/bug_report.json`);
    expect(bug).toMatchObject({
      title: 'Session failure: Critical error in restoring',
      component: 'workflow',
      priority: 'P1',
    });
    expect(bug.actual_behavior).toContain(kept);
    expect(backlog.state).toMatchObject({ current_phase: 'exitedEarly', early_exit_triggered: true });
  });

  it('a git failure is a critical error', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('.agent-config.json', '{"auto_commit": true}');
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho the hook says no >&2\nexit 1\n');
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--no-verify', '--message=All');
    const { chmodSync } = await import('node:fs');
    chmodSync(`${backlog.folder}/.git/hooks/pre-commit`, 0o755);
    const run = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    expect(run.result.incidents).toMatchObject([
      {
        ...{ kind: 'critical_error', phase: 'archiving', item: 'BUG-001' },
        message: 'BUG-001 is done, but could not be committed: git commit failed: the hook says no.',
      },
    ]);
    expect(run.result.created).toMatchObject([{ title: 'Session failure: Critical error in archiving' }]);
    // The item is written, and the failed commit is reported too.
    expect(run.result.problems).toEqual(['BUG-002 was written but not committed: git commit failed: the hook says no']);
  });
});

describe('test case 4: a sub-agent that cannot be invoked (W-1, W-2)', () => {
  it('is tried three times, then filed as a bug that lists the places searched', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    let loads = 0;
    const missing = {
      name: 'bug-processor',
      lookedFor: ['agents/', '.claude/agents/'],
      load: () => {
        loads += 1;
        throw new Error('there is no file bug-processor.md');
      },
    };
    const run = await runOver(backlog, { process: missing });
    expect(loads).toBe(3);
    expect(run.events.filter((event) => event.type === 'wait.started')).toHaveLength(2);
    const [created] = run.result.created;
    const bug = backlog.json(`${created?.folder}/bug_report.json`);
    expect(bug).toMatchObject({
      title: 'Session failure: Unable to invoke bug-processor',
      component: 'agents/infrastructure',
      priority: 'P1',
      actual_behavior: 'there is no file bug-processor.md',
    });
    expect(bug.evidence.map((one) => one.location)).toEqual(
      expect.arrayContaining(['agents/', '.claude/agents/', '.agent-state.json']),
    );
    expect(backlog.read(`${created?.folder}/PROMPT.md`)).toContain('bug-processor was invoked 3 times.');
    expect(run.result).toMatchObject({ status: 'exitedEarly', failures: [], problems: [] });
  });

  it('a session whose provider rejects the key counts as one', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    await using worker = await agentOver(() => ({ status: 401 }));
    const run = await runOver(backlog, { process: worker.agent });
    expect(worker.server.requests).toHaveLength(3);
    expect(run.result.created).toMatchObject([{ title: 'Session failure: Unable to invoke worker' }]);
  });
});
