import { spawnSync } from 'node:child_process';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { WorkFunction, WorkflowOptions } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';

const fails: WorkFunction = ({ item }) => ({
  status: 'failed',
  message: `${item.id}: no`,
  slugs: ['tool_exec_failed'],
});

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('W-1: a run over a backlog', () => {
  it('processes P0 before P3, bugs before features and by number, and skips blocked items and human actions', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, { priority: 'low' });
    backlog.bug(2, { created_date: '2026-03-01' });
    backlog.bug(3, { created_date: '2026-02-01T10:00:00Z' });
    backlog.feature(1, { priority: 'P0 - at once', something_else: { kept: true } });
    backlog.feature(2);
    backlog.bug(4, { priority: 'P0', status: 'blocked' });
    backlog.bug(5, { priority: 'P1', blocked_by: ['FEAT-001'] });
    backlog.bug(6, { status: 'resolved' });
    backlog.write('human-actions/ACTION-001-buy/action_report.json', '{"title": "Buy", "priority": "P0"}');
    backlog.write('bugs/BUG-007-broken/bug_report.json', '{"title": ');
    backlog.write('bugs/notes/readme.txt', 'not an item');
    const taken: string[] = [];
    const {
      result,
      report: text,
      phases,
    } = await runOver(backlog, {
      process: ({ item }) => {
        taken.push(item.id);
        return { status: 'succeeded' };
      },
    });
    // BUG-005 waits for FEAT-001 and becomes available once that is done.
    expect(taken).toEqual(['FEAT-001', 'BUG-005', 'BUG-002', 'BUG-003', 'FEAT-002', 'BUG-001']);
    expect(result).toMatchObject({ status: 'completed', iterations: 6, failures: [], incidents: [], problems: [] });
    expect(phases.slice(0, 5)).toEqual(['restoring', 'scanning', 'processing', 'archiving', 'scanning']);
    expect(backlog.list('completed')).toHaveLength(6);
    expect(backlog.json('completed/FEAT-001-feature-1/feature_request.json')).toMatchObject({
      status: 'completed',
      something_else: { kept: true },
    });
    expect(backlog.list('bugs')).toEqual(['BUG-004-bug-4', 'BUG-006-bug-6', 'BUG-007-broken', 'notes']);
    expect(text).toContain('unreadable: bugs/BUG-007-broken: bug_report.json is not JSON');
    expect(backlog.state).toMatchObject({ current_phase: 'completed', current_item: null, iteration_count: 6 });
  });

  it('an agent gets the files of the item in its prompt, and a failed or blocked status in its report counts', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1, {}, '# Comments\n\nMind the umlauts.\n');
    backlog.bug(2);
    const prompts: string[] = [];
    const model = rehearsalModel((request) => {
      prompts.push(JSON.stringify(request));
      const content = prompts.length === 1 ? { status: 'blocked', reason: 'A licence\nis needed' } : { success: true };
      return { calls: [{ name: 'final_report', input: { content } }] };
    });
    const agent = defineAgent({ name: 'worker', models: [model], report: { format: 'json' } });
    const { result, events } = await runOver(backlog, { process: agent });
    expect(prompts[0]).toContain('Mind the umlauts.');
    expect(prompts[0]).toContain('Do what the title says.');
    expect(result).toMatchObject({ status: 'completed', setAside: ['BUG-001'], succeeded: ['BUG-002'], incidents: [] });
    // W-2: a blocked item needs a human action.
    expect(result.created).toMatchObject([{ id: 'ACTION-001', title: 'Unblock BUG-001: A licence' }]);
    expect(backlog.json(`${result.created[0]?.folder}/action_report.json`)).toMatchObject({
      priority: 'P1',
      required_action: 'A licence\nis needed',
      blocks: ['BUG-001'],
    });
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json')).toMatchObject({
      status: 'blocked',
      blocked_by: ['ACTION-001'],
    });
    expect(events).toContainEqual(expect.objectContaining({ type: 'item.setAside', id: 'BUG-001' }));
    // Once the action is done, the item returns to the queue.
    backlog.git('init', '--quiet');
    const done = result.created[0]?.folder ?? '';
    spawnSync('mv', [`${backlog.folder}/${done}`, `${backlog.folder}/completed/`]);
    const again = await runOver(backlog, { process: succeeds });
    expect(again.result.succeeded).toEqual(['BUG-001']);
  });

  it('if the test agent reports failure, the item fails and stays in the queue', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { result, warnings } = await runOver(backlog, { process: succeeds, test: fails });
    expect(result.failures).toMatchObject([{ id: 'BUG-001', phase: 'testing', slugs: ['tool_exec_failed'] }]);
    expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1']);
    expect(warnings.map((line) => line.msg)).toEqual([
      'BUG-001: succeeds changed no file.',
      'BUG-001 failed in testing: tool_exec_failed',
    ]);
  });

  it.each([
    ['nothing', () => undefined],
    ['true', () => true],
    ['an unknown status', () => ({ status: 'done' })],
    [
      'an error',
      () => {
        throw new Error('it broke');
      },
    ],
  ])('a function that returns or throws %s does not succeed', async (_, run) => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { result } = await runOver(backlog, { process: run as WorkFunction });
    expect(result).toMatchObject({ succeeded: [], failures: [{ id: 'BUG-001', slugs: ['internal_error'] }] });
  });

  it('a tool call that needs approval is denied unless approve is passed and approves it', async () => {
    const bought: unknown[] = [];
    const buy = tool({
      inputSchema: z.object({ what: z.string() }),
      needsApproval: true,
      execute: ({ what }) => bought.push(what),
    });
    const shopper = () => {
      const models = [rehearsalModel([{ calls: [{ name: 'buy', input: { what: 'a licence' } }] }, done()])];
      return defineAgent({ name: 'shopper', models, tools: { buy } });
    };
    const backlog = new TestBacklog();
    backlog.bug(1);
    const log = async (over: Partial<WorkflowOptions>) => {
      const { result } = await runOver(
        backlog,
        { process: shopper() },
        { ...over, limits: { maxConsecutiveFailures: 9 } },
      );
      const [name = ''] = backlog.list(`agent_runs/${result.run}`).filter((file) => file.endsWith('.jsonl'));
      return backlog.read(`agent_runs/${result.run}/${name}`);
    };
    expect(await log({})).toContain('this run is unattended');
    expect(bought).toEqual([]);
    backlog.bug(2);
    const asked: unknown[] = [];
    await log({
      approve: async ({ name, input }) => {
        asked.push([name, input]);
        return { approved: true };
      },
    });
    expect([asked, bought]).toEqual([[['buy', { what: 'a licence' }]], ['a licence']]);
    backlog.bug(3);
    const broken = await log({
      approve: () => {
        throw new Error('the pager is off');
      },
    });
    expect(broken).toContain('the pager is off');
    expect(bought).toHaveLength(1);
  });

  it('a scan agent sets the order, and items that it leaves out come last', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    let scans = 0;
    const { result } = await runOver(backlog, {
      scan: (items) => {
        scans += 1;
        return [items[2]?.id ?? '', 'BUG-999'];
      },
      process: succeeds,
    });
    expect(result.succeeded).toEqual(['BUG-003', 'BUG-001', 'BUG-002']);
    expect(scans).toBe(1);
  });

  it('inspect receives the actors of the run and its sessions, and onSessionEvent receives the session events', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel([done()])] });
    const actors = new Set<string>();
    const types: string[] = [];
    const inspect: WorkflowOptions['inspect'] = ({ actorRef }) => {
      if ('id' in actorRef) actors.add(String(actorRef.id));
    };
    const onSessionEvent = ({ type }: { type: string }) => types.push(type);
    await runOver(backlog, { process: agent }, { inspect, onSessionEvent });
    for (const id of ['scan', 'work', 'archive', 'turn', 'attempt', 'model']) expect(actors).toContain(id);
    expect(types).toEqual(expect.arrayContaining(['session.started', 'report.accepted', 'session.succeeded']));
  });

  it('limits set how many items a run processes and how many failures end it', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    const once = await runOver(backlog, { process: succeeds }, { limits: { maxItems: 1 } });
    expect(once.result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    const strict = await runOver(backlog, { process: fails }, { limits: { maxConsecutiveFailures: 1 } });
    expect(strict.result.created).toMatchObject([{ title: 'Session failure: 1 consecutive item processing failures' }]);
  });

  it('a signal ends the run and aborts the session; its item stays open and does not count as failed', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const ending = new AbortController();
    const model = rehearsalModel(() => {
      ending.abort(new Error('the shift is over'));
      return { text: 'too late' };
    });
    const agent = defineAgent({ name: 'worker', models: [model] });
    const { result } = await runOver(backlog, { process: agent }, { signal: ending.signal });
    expect(result).toMatchObject({
      status: 'exitedEarly',
      abortReason: 'the shift is over',
      failures: [],
      created: [],
    });
    expect(backlog.list('bugs')).toEqual(['BUG-001-bug-1']);
    expect(backlog.state).toMatchObject({ current_phase: 'exitedEarly' });
  });
});
