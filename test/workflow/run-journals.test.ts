import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { workflowMachine } from '../../machines/index.ts';
import { abortSession, defineAgent, type SessionEvent, stopSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import type { Telemetry } from '../../src/observe/telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const withBug = () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  return backlog;
};
const runIn = async (journal: MemoryJournal) => {
  const [row] = await journal.list({ metadata: { role: 'run' } });
  if (row === undefined) throw new Error('no run');
  return row;
};

describe('S-8: through its journal, a run', () => {
  it('can be aborted, and its journal says how it ended', async () => {
    const journal = new MemoryJournal();
    const process: WorkFunction = async ({ signal }) => {
      expect(await abortSession(journal, (await runIn(journal)).sessionId, 'home time')).toBe(true);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      return { status: 'succeeded' };
    };
    const { result } = await runOver(withBug(), { process }, { journal });
    expect(result).toMatchObject({ status: 'exitedEarly', abortReason: 'home time', succeeded: [] });
    const { sessionId, agent, metadata, status } = await runIn(journal);
    expect([agent, metadata, status]).toEqual(['workflow', { run: result.run, role: 'run' }, 'aborted']);
    expect(sessionId).toMatch(new RegExp(`^run-${result.run}-[0-9a-f]{8}$`));
  });

  it('takes no other command, and says so', async () => {
    const journal = new MemoryJournal();
    const process: WorkFunction = async () => {
      const { sessionId } = await runIn(journal);
      expect(await stopSession(journal, sessionId)).toBe(true);
      while ((await journal.inbox(sessionId)).length > 0) await new Promise(setImmediate);
      return { status: 'succeeded' };
    };
    const { result, warnings } = await runOver(withBug(), { process }, { journal });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(warnings.filter(({ event }) => event === 'observer.failed')).toMatchObject([
      { name: 'journal', message: 'A run can only be aborted, so session.stop had no effect.' },
    ]);
    expect((await runIn(journal)).status).toBe('succeeded');
  });
});

it('S-7: the sessions of a run are told to its telemetry', async () => {
  const ended: string[] = [];
  const telemetry: Telemetry = {
    session: ({ agent }) => ({
      event: ({ type }: SessionEvent) => void (type === 'session.succeeded' && ended.push(agent)),
      around: (_, work) => work(),
    }),
  };
  const agent = (name: string) => defineAgent({ name, models: [rehearsalModel(() => done())] });
  await runOver(withBug(), { process: agent('worker'), test: agent('tester') }, { telemetry });
  expect(ended).toEqual(['worker', 'tester']);
});

it('W-4: a state file that cannot be written at the end is a problem of the run', async () => {
  const backlog = withBug();
  const state = join(backlog.folder, '.agent-state.json');
  const summary = () => {
    rmSync(state);
    mkdirSync(join(state, 'in-the-way'), { recursive: true });
    return 'All is well.';
  };
  const { result } = await runOver(backlog, { process: succeeds, summary });
  expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
  expect(result.problems.at(-1)).toMatch(/^The state file could not be written at the end: ./);
});

describe('a run whose machine fails', () => {
  const { actions } = workflowMachine.implementations as unknown as { actions: Record<string, unknown> };
  const kept = { ...actions };
  afterEach(() => void Object.assign(actions, kept));

  it('rejects with the defect, and its journal says that it failed', async () => {
    const journal = new MemoryJournal();
    for (const name of Object.keys(actions))
      actions[name] = () => {
        throw new Error('a defect');
      };
    const run = runWorkflow({ backlog: withBug().folder, agents: { process: succeeds }, journal, logger: false });
    await expect(run).rejects.toThrow('a defect');
    expect((await runIn(journal)).status).toBe('failed');
  });
});
