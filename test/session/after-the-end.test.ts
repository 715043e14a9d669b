import { describe, expect, it, vi } from 'vitest';
import { defineAgent, replaySession, type SessionEvent, sqliteJournal, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { counters, report, reportedAtOnce, tokensOf } from '../support/session.ts';

/** An agent whose tool ignores an abort, and ends when `end` does. */
function deafAgent(end: Promise<string>) {
  const models = [rehearsalModel([{ calls: [{ name: 'deaf' }] }])];
  return defineAgent({ name: 'cut-off', models, tools: { deaf: () => end } });
}

const abortedInItsCall = counters({
  turns: 1,
  attempts: 1,
  tokens: tokensOf(1),
  costUsd: null,
  toolCalls: { requested: 1, answered: 1, rejected: { aborted: 1 } },
  slugs: { aborted: 1 },
  tree: { toolCalls: 1, costUsd: null },
});

describe('D-2: once a session has ended', () => {
  for (const kind of ['in memory', 'with a journal']) {
    it(`the result of a tool that ignored the abort is dropped: ${kind}`, async () => {
      const tool = Promise.withResolvers<string>();
      const heard: string[] = [];
      const agent = deafAgent(tool.promise);
      const session = startSession(agent, {
        prompt: 'Go.',
        logger: false,
        ...(kind === 'with a journal' && { journal: sqliteJournal(':memory:') }),
        onEvent: (event) => {
          heard.push(event.type);
          if (event.type === 'tool.started') setImmediate(() => session.abort());
        },
      });
      const result = await session.result;
      const atTheEnd = heard.length;
      tool.resolve('too late');
      await new Promise(setImmediate);
      assertInvariants(result);
      expect(result.counters).toEqual(abortedInItsCall);
      expect(result.failure?.detail).toBe('aborted by the caller');
      expect(heard.slice(atTheEnd)).toEqual([]);
      const told: SessionEvent[] = [];
      for await (const event of session.events) told.push(event);
      expect(told.at(-1)?.type).toBe('session.aborted');
    });
  }

  for (const kind of ['in memory', 'with a journal'])
    it(`no command is delivered: ${kind}`, async () => {
      const agent = defineAgent({ name: 'plain', models: [rehearsalModel([report()])] });
      const journal = sqliteJournal(':memory:');
      let deliveries = 0;
      const session = startSession(agent, {
        prompt: 'Go.',
        logger: false,
        ...(kind === 'with a journal' && { journal }),
        onDelivery: () => {
          deliveries += 1;
        },
      });
      const result = await session.result;
      const atTheEnd = deliveries;
      const written = vi.spyOn(journal, 'append');
      session.stop();
      session.abort();
      expect(session.steer('Go on.')).toBe(false);
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      expect([deliveries, await session.result, written.mock.calls]).toEqual([atTheEnd, result, []]);
      expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: tokensOf(1) }));
    });

  it('a result during its last write is dropped too', async () => {
    const tool = Promise.withResolvers<string>();
    const kept = sqliteJournal(':memory:');
    const journal = journalWith(kept, {
      append: async (sessionId, append) => {
        if (append.change?.status !== undefined) {
          tool.resolve('too late');
          await new Promise(setImmediate);
        }
        await kept.append(sessionId, append);
      },
    });
    const agent = deafAgent(tool.promise);
    const session = startSession(agent, {
      prompt: 'Go.',
      logger: false,
      journal,
      sessionId: 's',
      onEvent: ({ type }) => {
        if (type === 'tool.started') setImmediate(() => session.abort());
      },
    });
    const result = await session.result;
    assertInvariants(result);
    expect(result.counters).toEqual(abortedInItsCall);
    const told: string[] = [];
    for await (const { type } of session.events) told.push(type);
    expect(told.at(-1)).toBe('session.aborted');
    expect((await replaySession(kept, 's')).counters).toEqual(abortedInItsCall);
  });
});
