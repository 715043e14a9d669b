import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import type { WorkFunction } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';

/** An agent whose sessions take two requests each: one without a report, then the report. */
function twoRequests(asked: number[] = []) {
  let requests = 0;
  const model = rehearsalModel(() => {
    requests += 1;
    asked.push(requests);
    return requests % 2 === 1 ? { text: 'Let me see.' } : done();
  });
  return defineAgent({ name: 'worker', models: [model], limits: { maxTurns: 3, maxRetries: 2 } });
}

describe('B-7: one budget for all sessions of a run', () => {
  it('once it is spent, no further item is taken, no agent is asked, and the run ends as completed', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3, 4]) backlog.bug(number);
    const asked: number[] = [];
    const agent = twoRequests(asked);
    const { result, events, warnings, report } = await runOver(
      backlog,
      { process: agent, summary: agent },
      { budget: { requests: 4 } },
    );
    expect(result).toMatchObject({
      status: 'completed',
      succeeded: ['BUG-001', 'BUG-002'],
      failures: [],
      spent: '4 requests',
      spending: { sessions: 2, requests: 4, costUsd: null },
    });
    expect(asked).toHaveLength(4);
    expect(events).toContainEqual(expect.objectContaining({ type: 'budget.spent', limit: '4 requests' }));
    expect(warnings.map(({ event }) => event)).toContain('budget.spent');
    expect(result.problems).toEqual([
      'The budget of the run is spent (4 requests), so the summary agent was not asked.',
    ]);
    expect(report).toContain('4 LLM requests');
  });

  it('each session gets what is left: the last one has a request for its report only', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2]) backlog.bug(number);
    const { result } = await runOver(backlog, { process: twoRequests() }, { budget: { requests: 3 } });
    expect(result.spending.requests).toBe(3);
    expect(result).toMatchObject({ succeeded: ['BUG-001'], spent: '3 requests' });
    expect(result.failures).toMatchObject([{ id: 'BUG-002', slugs: expect.arrayContaining(['budget_exhausted']) }]);
  });

  it('an item whose work took the last of it is not tested, so it failed', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { result } = await runOver(
      backlog,
      { process: twoRequests(), test: twoRequests() },
      { budget: { requests: 2 } },
    );
    expect(result).toMatchObject({
      succeeded: [],
      failures: [{ id: 'BUG-001', phase: 'testing', slugs: ['budget_exhausted'] }],
      spent: '2 requests',
    });
  });

  it('a scan agent that takes the last of it leaves the items as they are', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const scan = defineAgent({
      name: 'scan',
      models: [rehearsalModel([{ calls: [{ name: 'final_report', input: { content: '{"order":["BUG-001"]}' } }] }])],
    });
    for (const _ of [1, 2]) {
      const { result } = await runOver(backlog, { scan, process: twoRequests() }, { budget: { requests: 1 } });
      expect(result).toMatchObject({ status: 'completed', iterations: 0, failures: [], spent: '1 requests' });
    }
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json').status).toBe('new');
  });

  it('an item whose work never began stays open: the budget ran out while its agent was unavailable', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const clock = manualClock();
    const absent = {
      name: 'worker',
      load: () => {
        clock.advance(40_000);
        throw new Error('not there');
      },
    };
    const run = () => runOver(backlog, { process: absent }, { budget: { wallClockMs: 60_000 }, clock });
    for (const { result, events } of [await run(), await run()]) {
      expect(result).toMatchObject({
        status: 'completed',
        succeeded: [],
        failures: [],
        incidents: [],
        spent: '60000 ms',
      });
      expect(events).toContainEqual(expect.objectContaining({ type: 'budget.spent', limit: '60000 ms' }));
    }
    expect(backlog.json('bugs/BUG-001-bug-1/bug_report.json').status).toBe('new');
  });

  it.each([
    ['tokens', { tokens: 10 }, '10 tokens'],
    ['time', { wallClockMs: 60_000 }, '60000 ms'],
  ] as const)('%s count, too', async (_, budget, limit) => {
    const backlog = new TestBacklog();
    for (const number of [1, 2]) backlog.bug(number);
    const clock = manualClock();
    const slow: WorkFunction = () => {
      clock.advance(70_000);
      return { status: 'succeeded' };
    };
    const agent = defineAgent({
      name: 'worker',
      models: [rehearsalModel(() => ({ ...done(), usage: { input: 8, output: 4 } }))],
    });
    const { result } = await runOver(backlog, { process: limit.endsWith('ms') ? slow : agent }, { budget, clock });
    expect(result).toMatchObject({ succeeded: ['BUG-001'], spent: limit });
  });

  it('costs need prices: an agent without them cannot be invoked', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const { result } = await runOver(backlog, { process: twoRequests() }, { budget: { costUsd: 1 } });
    expect(result.incidents).toMatchObject([
      { kind: 'agent_unavailable', errors: expect.arrayContaining([expect.stringContaining('needs a price')]) },
    ]);
  });

  it('a wrong budget is refused before anything runs', async () => {
    const backlog = new TestBacklog();
    const run = runOver(backlog, { process: twoRequests() }, { budget: { requests: 0 } });
    await expect(run).rejects.toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('budget.requests'),
    });
  });
});
