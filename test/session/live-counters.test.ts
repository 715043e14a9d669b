import { expect, it } from 'vitest';
import { defineAgent, runSession, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

/** A session whose sub-agent holds a tool until it is let go. */
function family() {
  let letGo = () => {};
  const hold = () =>
    new Promise<string>((resolve) => {
      letGo = () => resolve('held');
    });
  const requests = { count: 0 };
  const calling = (name: string, input: object = {}) =>
    rehearsalModel(({ prompt }) => {
      requests.count += 1;
      return prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input }] };
    });
  const helper = defineAgent({ name: 'helper', models: [calling('hold')], tools: { hold } });
  const models = [calling('helper', { prompt: 'Help.', reason: 'Long.' })];
  return { agent: defineAgent({ name: 'above', models, agents: { helper } }), letGo: () => letGo(), requests };
}

it('S-4: the counters of a session hold what its sub-agents have spent, while they run and after a suspension', async () => {
  const { agent, requests } = family();
  const journal = new MemoryJournal();
  const session = startSession(agent, { prompt: 'Go.', journal, logger: false });
  await until(() => session.counters.subAgents.helper?.toolCalls.requested === 1);
  expect(session.counters).toMatchObject({ requests: 1, tree: { requests: 2, sessions: 2 } });
  await session.suspend({ graceMs: 0 });
  const { status, counters } = await session.result;
  expect([status, counters.tree.requests, counters.tree.sessions]).toEqual(['suspended', requests.count, 2]);
});

it('S-4: the counters are a copy: what is written in them changes nothing', async () => {
  const { agent, letGo } = family();
  const session = startSession(agent, { prompt: 'Go.', logger: false });
  await until(() => session.counters.subAgents.helper?.toolCalls.requested === 1);
  const mine = session.counters;
  Object.assign(mine, { requests: 57 });
  mine.tree.requests = 99;
  letGo();
  const result = await session.result;
  assertInvariants(result);
  expect(result.counters).toMatchObject({ requests: 2, tree: { requests: 4 } });
  expect(session.counters).toEqual(result.counters);
});

it('S-6: what a tool reports has the time at which it did, by the clock of its session', async () => {
  const clock = manualClock({ start: 5_000 });
  const times: [string, number][] = [];
  async function* work() {
    clock.advance(7);
    yield 'half way';
  }
  const result = await runSession(
    defineAgent({
      name: 'timed',
      models: [rehearsalModel([{ calls: [{ name: 'work' }] }, report()])],
      tools: { work },
    }),
    {
      ...{ prompt: 'Go.', clock, logger: false },
      onEvent: ({ type, at }) => void times.push([type, at]),
    },
  );
  expect(result.success).toBe(true);
  const at = (wanted: string) => times.find(([type]) => type === wanted)?.[1];
  expect([at('tool.started'), at('tool.progressed'), at('tool.answered')]).toEqual([5_000, 5_007, 5_007]);
});
