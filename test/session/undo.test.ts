import { tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { allow, defineAgent, resumeSession, runSession, sqliteJournal, type UndoneCall } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, run } from '../support/session.ts';

/** An agent that books two seats and looks one up, and then fails or reports; and what its tools were asked. */
function booking(ends: 'fails' | 'reports') {
  const undone: UndoneCall[] = [];
  let refusals = 0;
  const book = Object.assign(
    tool({
      inputSchema: z.object({ seat: z.string(), rows: z.number().default(1) }),
      execute: ({ seat }) => `booked ${seat}`,
    }),
    {
      undo: async (call: UndoneCall) => {
        undone.push(call);
        if (refusals-- > 0) throw new Error('the office is closed');
        return `freed ${(call.input as { seat: string }).seat}`;
      },
    },
  );
  const broken = Object.assign(() => Promise.reject(new Error('no')), { undo: () => 'never' });
  const calls = [
    { name: 'book', input: { seat: 'A1' } },
    { name: 'look', input: {} },
    { name: 'book', input: { seat: 'B2' } },
    { name: 'broken', input: {} },
  ];
  const last = ends === 'reports' ? { calls: [{ name: 'final_report', input: { content: 'Done.' } }] } : {};
  const model = rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? last : { calls }));
  const agent = defineAgent({
    name: 'booking',
    models: [model],
    tools: { book, broken, look: () => 'a seat' },
    limits: { maxTurns: 3, maxRetries: 2 },
  });
  const refuse = (times: number) => {
    refusals = times;
  };
  return { agent, undone, refuse };
}

it('D-7c: what a session did is taken back where a person asks for it, the last call first', async () => {
  const { agent, undone, refuse } = booking('fails');
  const { result } = await run({ agent, options: { sessionId: 's', context: { user: 'ada' } } });
  expect(result.counters).toEqual(
    counters({
      ...{ turns: 2, attempts: 3, failedAttempts: 2, notices: 1, tokens: result.counters.tokens, costUsd: null },
      toolCalls: { requested: 4, answered: 4, executed: 4, succeeded: 3, failed: 1 },
      slugs: { empty_response: 3, retries_exhausted: 1 },
    }),
  );
  expect(result.undoable?.map(({ name, input }) => [name, input])).toEqual([
    ['book', { seat: 'B2' }],
    ['book', { seat: 'A1' }],
  ]);
  // Nothing is taken back unasked.
  expect(undone).toEqual([]);
  const [last, first] = result.undoable ?? [];
  expect(await Promise.all([last?.undo(), last?.undo()])).toEqual(['freed B2', 'freed B2']);
  refuse(1);
  await expect(first?.undo()).rejects.toThrow('the office is closed');
  expect(await first?.undo()).toBe('freed A1');
  expect(undone).toHaveLength(3);
  expect(undone[0]).toEqual({
    idempotencyKey: 's/turn-1/attempt-1/tool-2/undo',
    input: { seat: 'B2', rows: 1 },
    output: { type: 'text', value: 'booked B2' },
    context: { user: 'ada' },
  });
  expect(undone.map(({ idempotencyKey }) => idempotencyKey).slice(1)).toEqual(
    Array(2).fill('s/turn-1/attempt-1/tool-0/undo'),
  );
});

it('D-7c: from its journal too, under the same key; a session that succeeded has nothing to take back', async () => {
  const journal = sqliteJournal(':memory:');
  const { agent, undone } = booking('fails');
  await runSession(agent, { prompt: 'Book.', journal, sessionId: 's', logger: false });
  const again = await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result;
  await again.undoable?.[0]?.undo();
  expect(undone.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['s/turn-1/attempt-1/tool-2/undo']);
  await journal.close();
  const { agent: other } = booking('reports');
  const succeeded = await runSession(other, { prompt: 'Book.', logger: false });
  expect([succeeded.status, succeeded.undoable]).toEqual(['succeeded', undefined]);
});

it('D-7c: policies see which of the past calls could be taken back', async () => {
  const seen: [string, boolean | undefined][] = [];
  const undoable = Object.assign(() => 'done', { undo: () => 'undone' });
  const model = rehearsalModel([
    { calls: [{ name: 'one', input: {} }] },
    { calls: [{ name: 'two', input: {} }] },
    { calls: [{ name: 'one', input: {} }] },
    { calls: [{ name: 'final_report', input: { content: 'Done.' } }] },
  ]);
  const agent = defineAgent({
    name: 'watched',
    models: [model],
    tools: { one: undoable, two: () => 'done' },
    toolPolicies: [
      (_, history) => {
        seen.splice(0, seen.length, ...history.map((past): (typeof seen)[number] => [past.name, past.canUndo]));
        return allow;
      },
    ],
  });
  await runSession(agent, { prompt: 'Go.', logger: false });
  expect(seen).toEqual([
    ['one', true],
    ['two', false],
  ]);
});
