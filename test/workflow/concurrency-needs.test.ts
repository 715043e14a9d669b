import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow, type WorkFunction, type WorkflowOptions } from '../../src/workflow/index.ts';
import { runOver, type TestBacklog } from '../support/backlog.ts';
import { gitThat } from '../support/fake-git.ts';
import { projectWith } from '../support/project.ts';

describe('W-1 B-7: sessions of several items', () => {
  it("never exceed the run's budget", async () => {
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

  it('an agent that is unavailable for a while finds the work where it was', async () => {
    const backlog = projectWith(2);
    const seen: boolean[] = [];
    const process: WorkFunction = ({ item, root }) => {
      writeFileSync(join(root, `${item.id}.txt`), 'work');
      return { status: 'succeeded' };
    };
    const test: WorkFunction = ({ item, root }) => {
      seen.push(existsSync(join(root, `${item.id}.txt`)));
      return { status: seen.length <= 2 ? 'unavailable' : 'succeeded' };
    };
    const { result } = await runOver(backlog, { process, test }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ succeeded: ['BUG-001', 'BUG-002'], problems: [], warnings: [] });
    expect(seen).toEqual([true, true, true, true]);
    expect(backlog.git('show', 'HEAD:BUG-002.txt')).toBe('work');
  });

  it('an agent that stays unavailable ends the run; the work of each item is on a branch', async () => {
    const backlog = projectWith(3);
    const process: WorkFunction = ({ item, root }) => {
      writeFileSync(join(root, `${item.id}.txt`), 'work');
      return { status: item.id === 'BUG-001' ? 'unavailable' : 'succeeded' };
    };
    const { result } = await runOver(backlog, { process }, { limits: { concurrency: 2 } });
    expect(result).toMatchObject({ status: 'exitedEarly', succeeded: ['BUG-002'], iterations: 2, failures: [] });
    expect(result.incidents).toMatchObject([{ kind: 'agent_unavailable', item: 'BUG-001', tries: 3 }]);
    expect(backlog.git('show', `pawl/${result.run}/BUG-001:BUG-001.txt`)).toBe('work');
    expect(backlog.list('agent_runs/worktrees')).toEqual(['.gitignore']);
  });

  it('a backlog that git ignores is worked on where it is', async () => {
    const project = projectWith(1);
    project.write('.gitignore', 'plans\nagent_runs\n.agent-state.json*\n');
    for (const number of [1, 2])
      project.write(`plans/bugs/BUG-00${number}-x/PROMPT.md`, `# BUG-00${number}: X\n\n**Status**: new\n`);
    const folders: string[] = [];
    const process: WorkFunction = ({ item, root, folder }) => {
      folders.push(folder);
      writeFileSync(join(root, `${item.id}.txt`), 'work');
      return { status: 'succeeded' };
    };
    const backlog = join(project.folder, 'plans');
    const result = await runWorkflow({ backlog, agents: { process }, limits: { concurrency: 2 }, logger: false });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001', 'BUG-002'], problems: [] });
    expect(folders.toSorted()).toEqual([1, 2].map((number) => join(backlog, `bugs/BUG-00${number}-x`)));
    for (const number of [1, 2]) expect(project.read(`BUG-00${number}.txt`)).toBe('work');
    expect(project.list('plans/completed')).toHaveLength(2);
  });
});

describe('W-1: a run with concurrency is refused', () => {
  const work: WorkFunction = () => ({ status: 'succeeded' });
  const refused = (backlog: TestBacklog, agents: WorkflowOptions['agents']) =>
    expect(runWorkflow({ backlog: backlog.folder, agents, limits: { concurrency: 2 }, logger: false })).rejects;

  it('without a git repository, and with an old git', async () => {
    const backlog = projectWith(1);
    rmSync(join(backlog.folder, '.git'), { recursive: true });
    await refused(backlog, { process: work }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('`limits.concurrency` above 1 needs a git repository'),
    });
    const other = projectWith(1);
    gitThat('[ "$1" = version ] && echo "git version 2.37.9" && exit\nexec "$GIT" "$@"');
    await refused(other, { process: work }).toMatchObject({
      message: expect.stringContaining(
        '`limits.concurrency` above 1 needs git 2.38 or newer; found git version 2.37.9',
      ),
    });
  });

  it('with agents whose tools work in one folder', async () => {
    const backlog = projectWith(1);
    const agent = defineAgent({ name: 'worker', models: [rehearsalModel([{}])] });
    await refused(backlog, { process: agent }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('agents.process'),
    });
    await refused(backlog, { process: work, test: agent }).toMatchObject({
      code: 'invalid_workflow',
      message: expect.stringContaining('agents.test'),
    });
    expect(backlog.has('.agent-state.json')).toBe(false);
  });
});
