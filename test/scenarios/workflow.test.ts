import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, PawlError } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow, type WorkFunction, type WorkflowOptions } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { report } from '../support/session.ts';

const fails: WorkFunction = ({ item }) => ({
  status: 'failed',
  message: `${item.id}: no`,
  slugs: ['tool_exec_failed'],
});
const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('W-1: a run over a backlog', () => {
  it('processes P0 before P3, bugs before features and oldest first, and skips blocked items and human actions', async () => {
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
    expect(taken).toEqual(['FEAT-001', 'BUG-005', 'BUG-003', 'BUG-002', 'FEAT-002', 'BUG-001']);
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
      const content = prompts.length === 1 ? { status: 'blocked', reason: 'A licence\nis needed' } : { done: true };
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
    expect(warnings.map((line) => line.msg)).toEqual(['BUG-001 failed in testing: tool_exec_failed']);
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
      const models = [rehearsalModel([{ calls: [{ name: 'buy', input: { what: 'a licence' } }] }, report()])];
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
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel([report()])] });
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

  it('the documents contain the text of the agents, and items that agents create belong to the run', async () => {
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
      report('All is well but the build.'),
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
    const first = await runOver(backlog, { process: fails });
    const second = await runOver(backlog, { process: fails });
    expect(first.result.created).toMatchObject([{ id: 'BUG-004', isNew: true }]);
    expect(second.result.created).toMatchObject([{ id: 'BUG-004', isNew: false }]);
    const folder = second.result.created[0]?.folder;
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({ runs: [first.result.run, second.result.run] });
    expect(backlog.json(`${folder}/bug_report.json`).evidence.map(({ location }) => location)).toContain(
      `agent_runs/${second.result.run}/`,
    );
    expect(backlog.read(`${folder}/comments.md`)).toContain(`Seen again in run ${second.result.run}`);
    // A different failure becomes a different bug.
    const third = await runOver(backlog, {
      process: () => ({ status: 'failed', message: 'else', slugs: ['tool_timeout'] }),
    });
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

  it('if the disk fills up while an item is written, no partial item is left and nothing is lost', () => {
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

describe('before anything runs', () => {
  it('a second run on the same backlog is refused with an error that names the first process', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    let refusal: unknown = null;
    const other = { backlog: backlog.folder, agents: { process: succeeds } };
    const { result } = await runOver(backlog, {
      process: async () => {
        refusal = await runWorkflow(other).catch((error) => error);
        const child = spawn(process.execPath, ['test/support/dying-run.ts', backlog.folder], {
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        let said = '';
        child.stderr.on('data', (data) => {
          said += data;
        });
        await once(child, 'close');
        return { status: 'succeeded', message: said };
      },
    });
    expect(refusal).toBeInstanceOf(PawlError);
    expect(refusal).toMatchObject({
      code: 'backlog_locked',
      message: expect.stringContaining(`process ${process.pid}, since`),
    });
    expect(result.succeeded).toEqual(['BUG-001']);
    // The lock is free again.
    expect(await runWorkflow(other)).toMatchObject({ status: 'completed' });
  });

  it.each([
    [{ agents: {} }, '`agents.process` is required: an agent made by defineAgent, { name, load } or a function.'],
    [
      { agents: { process: succeeds, test: 'tester' } },
      '`agents.test` must be an agent made by defineAgent, { name, load } or a function; got "tester".',
    ],
    [
      { agents: { process: succeeds, review: succeeds } },
      'Unknown option `agents.review`. Options: scan, process, test, retrospective, summary.',
    ],
    [
      { limits: { maxConsecutiveFailures: 0 } },
      '`limits.maxConsecutiveFailures` must be an integer of at least 1; got 0.',
    ],
    [{ backlog: '/nowhere' }, 'Backlog folder not found: "/nowhere" (it does not exist).'],
    [{ dryRun: true }, 'Unknown option `dryRun`.'],
  ])('invalid options are refused: %o', async (over, message) => {
    const backlog = new TestBacklog();
    const options = { backlog: backlog.folder, agents: { process: succeeds }, ...over };
    await expect(runWorkflow(options as never)).rejects.toThrow(message);
    expect(backlog.list('.')).toEqual(['.git']);
  });

  it('an error in .agent-config.json names the file and the field', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"duplicate_threshold": 7}');
    await expect(runWorkflow({ backlog: backlog.folder, agents: { process: succeeds } })).rejects.toThrow(
      '`.agent-config.json.duplicate_threshold` must be a number from 0 to 1; got 7.',
    );
  });
});
