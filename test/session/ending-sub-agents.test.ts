import { describe, expect, it } from 'vitest';
import { countSubAgent } from '../../machines/index.ts';
import { defineAgent, type SessionEvent, sqliteJournal, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { counters, tokensOf } from '../support/session.ts';

const task = { prompt: 'Help.', reason: 'To be quick.' };

function familyOf(count: number) {
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    models: [rehearsalModel([{ calls: [{ name: 'wait' }] }])],
    tools: { wait: (_: unknown, { signal }: { signal: AbortSignal }) => ended(signal) },
  });
  const calls = Array.from({ length: count }, () => ({ name: 'helper', input: task }));
  return defineAgent({ name: 'root', models: [rehearsalModel([{ calls }])], agents: { helper } });
}

function ended(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'), { once: true }));
}

/** The counters of a session that was aborted in its first turn, before any of its `count` calls had a result. */
function abortedCalls(count: number) {
  return counters({
    turns: 1,
    attempts: 1,
    tokens: tokensOf(1),
    costUsd: null,
    toolCalls: { requested: count, answered: count, rejected: { aborted: count } },
    slugs: { aborted: 1 },
    tree: { toolCalls: count, costUsd: null },
  });
}

describe('D-2: a session that ends while its sub-agents begin', () => {
  it.each(['subAgent.started', 'session.started', 'tool.started'])(
    'an abort at the first %s of the tree: none begins afterwards, and none outlives the session',
    async (type) => {
      const told: SessionEvent[] = [];
      let isAborted = false;
      const session = startSession(familyOf(3), {
        prompt: 'Go.',
        logger: false,
        onEvent: (event) => {
          told.push(event);
          if (isAborted || event.type !== type || (type === 'session.started' && event.path.length === 0)) return;
          isAborted = true;
          session.abort();
        },
      });
      const result = await session.result;
      const atTheEnd = told.length;
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      assertInvariants(result);
      expect(result.status).toBe('aborted');
      expect(told.slice(atTheEnd).map((event) => event.type)).toEqual([]);
      const helpers = told.filter(({ path }) => path.length === 1).map((event) => event.type);
      const of = (kind: string) => helpers.filter((one) => one === kind).length;
      expect(of('session.started')).toBe(of('session.aborted'));
      expect(of('session.started')).toBeLessThanOrEqual(1);
      expect(told.at(-1)?.path).toEqual([]);
      const begun = {
        subAgents: { helper: counters({ slugs: { aborted: 1 } }) },
        tree: { ...abortedCalls(3).tree, sessions: 2 },
      };
      expect(result.counters).toEqual({ ...abortedCalls(3), ...(type !== 'tool.started' && begun) });
    },
  );

  it('D-4: a suspension does not wait out its grace for an end that waits for a sub-agent', async () => {
    const journal = sqliteJournal(':memory:');
    let suspended: Promise<void> | null = null;
    const session = startSession(familyOf(1), {
      prompt: 'Go.',
      logger: false,
      journal,
      sessionId: 's',
      onEvent: ({ type, path }) => {
        if (path.length === 0) return;
        if (type === 'tool.started') setImmediate(() => session.abort());
        if (type === 'turn.aborted') suspended = session.suspend({ graceMs: 600_000 });
      },
    });
    const result = await session.result;
    expect(result.status).toBe('suspended');
    // What the sub-agent has spent counts, although its end is not told yet.
    const expected = { ...abortedCalls(1), slugs: {}, tree: structuredClone(abortedCalls(1).tree) };
    countSubAgent(expected, 'helper', { ...abortedCalls(1), slugs: {}, lateResults: 1 });
    expect(result.counters).toEqual(expected);
    await suspended;
    await journal.close();
  });
});
