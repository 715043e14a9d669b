import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow, type WorkFunction, type WorkflowOptions } from '../../src/workflow/index.ts';
import { runOver, type TestBacklog } from '../support/backlog.ts';
import { projectWith } from '../support/project.ts';

describe('W-1 B-7: what several items share', () => {
  it('the budget of the run, which they cannot spend twice', async () => {
    const backlog = projectWith(12);
    let requests = 0;
    const model = rehearsalModel(() => {
      requests += 1;
      return {};
    });
    const load = () => defineAgent({ name: 'worker', models: [model], limits: { maxTurns: 9, maxRetries: 9 } });
    const { result } = await runOver(
      backlog,
      { process: { name: 'worker', load } },
      { limits: { concurrency: 4, maxConsecutiveFailures: 12 }, budget: { requests: 10 } },
    );
    expect(requests).toBe(10);
    expect(result.spending.requests).toBe(10);
    expect(result.spent).toBe('10 requests');
  });
});

describe('W-1: several items at once need', () => {
  const process: WorkFunction = () => ({ status: 'succeeded' });
  const refused = (backlog: TestBacklog, agents: WorkflowOptions['agents']) =>
    expect(runWorkflow({ backlog: backlog.folder, agents, limits: { concurrency: 2 }, logger: false })).rejects;

  it('a git repository', async () => {
    const backlog = projectWith(1);
    rmSync(join(backlog.folder, '.git'), { recursive: true });
    await refused(backlog, { process }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('`limits.concurrency` must be 1'),
    });
  });

  it('agents that are made for a place', async () => {
    const backlog = projectWith(1);
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel([{}])] });
    await refused(backlog, { process: agent }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('agents.process'),
    });
    await refused(backlog, { process, test: agent }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('agents.test'),
    });
    expect(backlog.has('.agent-state.json')).toBe(false);
  });
});
