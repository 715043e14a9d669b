import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionMachine } from '../../machines/index.ts';
import { defineAgent, replaySession, type SessionEvent, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { quiet, workingAgent } from '../support/journaled.ts';
import { listed, ScriptedServer } from '../support/scripted-server.ts';
import { counters, keptLog, report, reportedAtOnce, tokensOf } from '../support/session.ts';

const { actions } = sessionMachine.implementations as unknown as { actions: Record<string, unknown> };
const { takeTurn } = actions;
beforeAll(() => {
  expect(typeof takeTurn).toBe('function');
  actions.takeTurn = () => {
    throw new Error('a defect');
  };
});
afterAll(() => {
  actions.takeTurn = takeTurn;
});

it('D-2 S-3: when its machines break, a session closes its servers, and takes no command', async () => {
  const transport = new ScriptedServer({ 'tools/list': () => ({ tools: [listed('find')] }) });
  const agent = defineAgent({
    name: 'broken',
    models: [rehearsalModel([report()])],
    mcpServers: { docs: { transport } },
  });
  const { lines, logger } = keptLog();
  const session = startSession(agent, { prompt: 'Go.', logger });
  const types: string[] = [];
  for await (const { type } of session.events) types.push(type);
  const result = await session.result;
  expect(result).toMatchObject({ status: 'failed', slugs: ['internal_error'], failure: { detail: 'a defect' } });
  expect(transport.closed).toBe(1);
  expect(types.slice(-2)).toEqual(['turn.finished', 'session.failed']);
  expect(lines.filter(({ level }) => level === 50)).toMatchObject([{ event: 'session.failed' }]);
  expect(session.steer('Go on.')).toBe(false);
  session.stop();
  session.abort();
  expect(await session.result).toBe(result);
  expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: tokensOf(1), slugs: { internal_error: 1 } }));
});

it('D-3: a replay of a session whose machine failed fails at the same step, with the same result', async () => {
  const journal = new MemoryJournal();
  const session = startSession(workingAgent().agent, { prompt: 'Go.', ...quiet(journal) });
  const heard: SessionEvent[] = [];
  for await (const event of session.events) heard.push(event);
  expect((await session.result).slugs).toEqual(['internal_error']);
  const { events, difference, counters: told, steps } = await replaySession(journal, 's');
  // Their end has no cause.
  expect(steps.map(({ cause }) => cause)).toEqual([
    'start',
    'prepare',
    'turn-1/attempt-1/model',
    'turn-1/attempt-1/tool-0',
    '',
  ]);
  expect([events, difference, told]).toEqual([heard, null, session.counters]);
  expect(events.at(-1)).toMatchObject({ type: 'session.failed', failure: { detail: 'a defect' } });
});
