import { describe, expect, it } from 'vitest';
import { type Agent, type AgentDefinition, defineAgent } from '../../src/index.ts';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import type { NamedAgent, WorkFunction } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';
import { report, wireModel } from '../support/session.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

/** Defines an agent on a model server with this script. */
async function served(name: string, script: ServerScript, over: Partial<AgentDefinition> = {}) {
  const server = await startModelServer(script);
  const models = [wireModel('openai', server.url)];
  const agent = defineAgent({ name, models, limits: { maxTurns: 1, maxRetries: 1 }, ...over });
  return { agent, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** An agent that fails to load the first `times`. */
function absent(times: number, agent: Agent | null = null): NamedAgent {
  let loads = 0;
  return {
    name: 'scan',
    lookedFor: ['agents/'],
    load: () => {
      loads += 1;
      if (loads <= times || agent === null) throw new Error(`no agent, look ${loads}`);
      return agent;
    },
  };
}

const ordering = (order: unknown) => served('scan', () => report({ order }), { report: { format: 'json' } });
const nothingSpent = { sessions: 0, requests: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };

describe('W-1: a scan agent that cannot be invoked ends the run after three tries, like any other agent', () => {
  it('the work item contains the error of each try', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { result, events, warnings } = await runOver(backlog, { scan: absent(9), process: succeeds });
    expect(result).toMatchObject({ status: 'exitedEarly', iterations: 0, succeeded: [], failures: [], setAside: [] });
    expect(result.spending).toEqual(nothingSpent);
    expect(result.incidents).toEqual([
      {
        kind: 'agent_unavailable',
        agent: 'scan',
        item: null,
        tries: 3,
        lookedFor: ['agents/'],
        errors: ['no agent, look 1', 'no agent, look 2', 'no agent, look 3'],
      },
    ]);
    expect(events.flatMap((event) => (event.type === 'wait.started' ? [event.agent] : []))).toEqual(['scan', 'scan']);
    expect(warnings.filter(({ event }) => event === 'agent.unavailable')).toHaveLength(3);
    const [bug] = result.created;
    const { title, component, evidence } = backlog.json(`${bug?.folder}/bug_report.json`);
    expect([title, component]).toEqual(['Session failure: Unable to invoke scan', 'agents/infrastructure']);
    expect(evidence.map(({ location }) => location)).toEqual(
      expect.arrayContaining(['no agent, look 1', 'no agent, look 2', 'no agent, look 3', 'agents/']),
    );
    expect(backlog.read(`${bug?.folder}/PROMPT.md`)).toMatch(/Try 1:[\s\S]*look 1[\s\S]*Try 3:[\s\S]*look 3/);
    expect(backlog.state).toMatchObject({ current_phase: 'exitedEarly', current_item: null });
  });

  it('over the wire: a provider that refuses the key is asked three times, and no item is taken', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    await using scan = await served('scan', () => ({ status: 401 }));
    await using worker = await served('worker', () => done());
    const { result, errors } = await runOver(backlog, { scan: scan.agent, process: worker.agent });
    expect([scan.server.requests.length, worker.server.requests.length]).toEqual([3, 0]);
    expect(result).toMatchObject({ status: 'exitedEarly', iterations: 0, succeeded: [], failures: [], setAside: [] });
    expect(result.spending).toEqual({ ...nothingSpent, sessions: 3, requests: 3 });
    expect(result.incidents).toMatchObject([
      {
        kind: 'agent_unavailable',
        agent: 'scan',
        item: null,
        tries: 3,
        errors: Array(3).fill(expect.stringContaining('no_targets')),
      },
    ]);
    expect(errors).toMatchObject([{ event: 'workflow.exitedEarly', reason: 'Unable to invoke scan' }]);
  });

  it('an agent that becomes available decides the order', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    await using scan = await ordering(['BUG-002', 'BUG-001']);
    const { result } = await runOver(backlog, { scan: absent(2, scan.agent), process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-002', 'BUG-001'], incidents: [] });
    expect(scan.server.requests).toHaveLength(1);
  });

  it('the count of tries restarts after an item', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    await using ordered = await ordering(['BUG-001']);
    let isDown = true;
    const scan: NamedAgent = {
      name: 'scan',
      load: () => {
        isDown = !isDown;
        if (!isDown) throw new Error('down');
        return ordered.agent;
      },
    };
    // An item that appears makes the run ask for the order again.
    const work: WorkFunction = ({ item }) => {
      if (item.id === 'BUG-001') backlog.bug(3);
      return { status: 'succeeded' };
    };
    const { result, events } = await runOver(backlog, { scan, process: work }, { limits: { maxAgentTries: 2 } });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001', 'BUG-002'] });
    expect(events.flatMap((event) => (event.type === 'agent.unavailable' ? [event.tries] : []))).toEqual([1, 1]);
    expect(ordered.server.requests).toHaveLength(2);
  });

  it('an answer without an order is a problem, and the run uses the default order', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    await using scan = await ordering('any');
    const { result } = await runOver(backlog, { scan: scan.agent, process: succeeds });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(result.problems).toMatchObject([expect.stringContaining('no usable order')]);
  });
});

const summary = `# Bugs

## High-level overview (3)

| ID | Title | Status |
|---|---|---|
| BUG-009 | Nine | new |

## P1 - High (1)

| ID | Title | Status |
|---|---|---|
| BUG-009 | Nine | new |

## P2 - Medium (1)

| ID | Title | Status |
|---|---|---|
| BUG-002 | Two | new |
`;

describe('W-3: the findings of the retrospective', () => {
  const said = {
    findings: 'The export fails each time.',
    priorities: [
      { id: 'bug-2', priority: 'p1', reason: 'It recurs.' },
      { id: 'BUG-001', priority: 'P0' },
      { id: 'BUG-003', priority: 'urgent' },
      { id: 'BUG-003', priority: 'P2' },
      'BUG-003',
    ],
  };

  it('reach the summary agent and the report over the wire; new priorities are applied, committed and listed', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', JSON.stringify({ auto_commit: true }));
    backlog.bug(1);
    const second = backlog.bug(2, { blocked: true });
    backlog.bug(3, { blocked: true });
    backlog.write(
      `${second}/PROMPT.md`,
      '# BUG-002: Two, with the priority: P2 list\n\n**Status**: new **Priority**: Medium **Owner**: Ada\n\nMend it.\n\n## Steps\n\nPriority: P2\n',
    );
    backlog.write('bugs/bugs.md', summary);
    backlog.git('add', '--all');
    backlog.git('commit', '--quiet', '--message=As found');
    await using summarizer = await served('summary', () => report('A short day.'), { report: { format: 'text' } });
    await using looker = await served('retrospective', () => report(said), { report: { format: 'json' } });
    const {
      result,
      report: text,
      retrospective,
      events,
    } = await runOver(backlog, { process: succeeds, retrospective: looker.agent, summary: summarizer.agent });
    expect(result.spending).toMatchObject({ sessions: 2, requests: 2 });
    expect(result).toMatchObject({
      status: 'completed',
      priorities: [{ id: 'BUG-002', from: 'P2', to: 'P1', reason: 'It recurs.' }],
    });
    expect(events).toContainEqual(expect.objectContaining({ type: 'priority.changed', change: result.priorities[0] }));
    expect(result.problems).toEqual([
      expect.stringContaining('the priority of BUG-001, which is not an open item'),
      expect.stringContaining('set no priority: `priorities` must be'),
      expect.stringContaining('set no priority: `priorities` must be'),
    ]);
    expect(backlog.json(`${second}/bug_report.json`)).toMatchObject({ priority: 'P1', blocked: true });
    expect(backlog.read(`${second}/PROMPT.md`)).toBe(
      '# BUG-002: Two, with the priority: P2 list\n\n**Status**: new **Priority**: P1 **Owner**: Ada\n\nMend it.\n\n## Steps\n\nPriority: P2\n',
    );
    expect(backlog.read(`${second}/comments.md`)).toContain('> It recurs.');
    expect(backlog.read('bugs/bugs.md')).toMatch(
      /overview \(3\)[\s\S]*P1 - High \(2\)[\s\S]*BUG-009[\s\S]*\| BUG-002 \| Two \| new \|\n\n## P2 - Medium \(0\)/,
    );
    expect(backlog.git('log', '--format=%s')).toContain('BUG-002: P1 instead of P2');
    expect(backlog.git('status', '--short', '--', 'bugs')).toBe('');
    for (const document of [text, retrospective]) {
      expect(document).toContain('- BUG-002: P1 instead of P2, It recurs.');
      expect(document).toContain('The export fails each time.');
    }
    expect(text).toContain('A short day.');
    expect([looker.server.requests.length, summarizer.server.requests.length]).toEqual([1, 1]);
    expect(JSON.stringify(summarizer.server.requests[0]?.body)).toContain('The export fails each time.');
  });

  it('a function can return the priorities, and the whole of a text can be an object that has them', async () => {
    const backlog = new TestBacklog();
    const first = backlog.bug(1, { blocked: true });
    const { result } = await runOver(backlog, {
      process: succeeds,
      retrospective: () => '{ "text": "All is slow.", "priorities": [{ "id": "BUG-001", "priority": "P0" }] }',
    });
    expect(result.priorities).toEqual([{ id: 'BUG-001', from: 'P2', to: 'P0', reason: '' }]);
    expect(backlog.json(`${first}/bug_report.json`)).toMatchObject({ priority: 'P0' });
  });

  it('an agent that cannot be invoked is a problem, and the documents are written', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const gone: NamedAgent = {
      name: 'looker',
      load: () => {
        throw new Error('not installed');
      },
    };
    await using failing = await served('summary', () => ({ status: 500 }));
    const { result, retrospective } = await runOver(backlog, {
      process: succeeds,
      retrospective: gone,
      summary: failing.agent,
    });
    expect(result).toMatchObject({ status: 'completed', priorities: [] });
    expect(result.problems[0]).toContain('The retrospective agent could not be invoked');
    expect(result.problems[0]).toContain('not installed');
    expect(result.problems[1]).toContain('The summary agent failed');
    expect(retrospective).toContain('1 item processed');
  });
});
