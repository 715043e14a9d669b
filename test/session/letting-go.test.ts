import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { defineAgent, PawlError, type SessionEvent, sqliteJournal, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { ScriptedServer } from '../support/scripted-server.ts';
import { counters, report, reportedAtOnce, tokensOf } from '../support/session.ts';

it('D-2: a session that loses its journal aborts the tools that run', async () => {
  const kept = sqliteJournal(':memory:');
  let isLost = false;
  const journal = journalWith(kept, {
    append: (sessionId, append) =>
      isLost ? Promise.reject(new PawlError('session_taken', 'taken')) : kept.append(sessionId, append),
  });
  const aborted = Promise.withResolvers<string>();
  const wait = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise<string>((resolve) => {
      isLost = true;
      signal.addEventListener('abort', () => {
        aborted.resolve('aborted');
        resolve('too late');
      });
    });
  const agent = defineAgent({
    name: 'lost',
    models: [rehearsalModel([{ calls: [{ name: 'wait' }, { name: 'quick' }] }])],
    tools: { wait, quick: () => 'done' },
  });
  const session = startSession(agent, {
    prompt: 'Go.',
    logger: false,
    journal,
  });
  const result = await session.result;
  expect(await aborted.promise).toBe('aborted');
  expect(result.status).toBe('suspended');
  expect(result.counters).toEqual(
    counters({
      turns: 1,
      attempts: 1,
      tokens: tokensOf(1),
      costUsd: null,
      lateResults: 1,
      toolCalls: { requested: 2 },
      tree: { toolCalls: 2, costUsd: null },
    }),
  );
  await kept.close();
});

it('D-2 S-4: a result that comes after its tool timed out is counted, and is not used', async () => {
  const clock = manualClock();
  const tool = Promise.withResolvers<string>();
  const told: SessionEvent[] = [];
  const looked = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: 'late',
    models: [rehearsalModel([{ calls: [{ name: 'deaf' }] }, { calls: [{ name: 'look' }] }, report()])],
    tools: { deaf: () => tool.promise, look: () => looked.promise },
    limits: { toolTimeoutMs: 1_000 },
  });
  const session = startSession(agent, {
    prompt: 'Go.',
    logger: false,
    clock,
    onEvent: (event) => {
      told.push(event);
      if (event.type === 'tool.started' && event.name === 'deaf') setImmediate(() => clock.advance(1_000));
      if (event.type === 'tool.started' && event.name === 'look') tool.resolve('too late');
      if (event.type === 'effect.late') looked.resolve();
    },
  });
  const result = await session.result;
  assertInvariants(result);
  expect(told.filter(({ type }) => type === 'effect.late')).toHaveLength(1);
  expect(JSON.stringify(result.conversation)).not.toContain('too late');
  expect(result.counters).toEqual(
    counters({
      turns: 3,
      attempts: 3,
      tokens: tokensOf(3),
      costUsd: null,
      lateResults: 1,
      toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 1, failed: 1, acknowledged: 1 },
      reports: { attempted: 1 },
      tree: { toolCalls: 3, costUsd: null },
    }),
  );
});

it('D-2: a session that is suspended, or whose journal fails, leaves no listener on the signal of its caller', async () => {
  const { signal } = new AbortController();
  const kept = sqliteJournal(':memory:');
  const asked = Promise.withResolvers<void>();
  const wait = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const models = [rehearsalModel([{ calls: [{ name: 'wait' }] }])];
  const agent = defineAgent({ name: 'let-go', models, tools: { wait } });
  const options = { prompt: 'Go.', logger: false as const, signal };
  const suspended = startSession(agent, { ...options, journal: kept });
  await asked.promise;
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await suspended.suspend({ graceMs: 0 });
  const refusing = journalWith(kept, { create: () => Promise.reject(new Error('full')) });
  const results = [await suspended.result, await startSession(agent, { ...options, journal: refusing }).result];
  expect(results.map(({ status, slugs }) => [status, slugs])).toEqual([
    ['suspended', ['suspended']],
    ['failed', ['journal_failed']],
  ]);
  const toolCalls = { requested: 1 };
  const tokens = tokensOf(1);
  expect(results.map((result) => result.counters)).toEqual([
    counters({ turns: 1, attempts: 1, tokens, costUsd: null, toolCalls, tree: { toolCalls: 1, costUsd: null } }),
    counters({ slugs: { journal_failed: 1 } }),
  ]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await kept.close();
});

it('D-3: a suspension ends when the journal fails meanwhile, even if a command still waits for it', async () => {
  const kept = sqliteJournal(':memory:');
  const refused = Promise.withResolvers<void>();
  let isFull = false;
  const written = Promise.withResolvers<void>();
  const journal = journalWith(kept, {
    append: async (sessionId, append) => {
      if (!isFull) return kept.append(sessionId, append);
      written.resolve();
      await refused.promise;
      throw new Error('the disk is full');
    },
  });
  const wait = () => {
    isFull = true;
    return 'done';
  };
  const models = [rehearsalModel([{ calls: [{ name: 'wait' }] }])];
  const session = startSession(defineAgent({ name: 'full', models, tools: { wait } }), {
    prompt: 'Go.',
    logger: false,
    journal,
  });
  await written.promise;
  expect(session.steer('Go on.')).toBe(true);
  const suspended = session.suspend({ graceMs: 0 });
  refused.resolve();
  await suspended;
  const { status, slugs, counters: counted } = await session.result;
  expect([status, slugs]).toEqual(['suspended', ['journal_failed']]);
  const toolCalls = { requested: 1 };
  expect(counted).toEqual(
    counters({
      turns: 1,
      attempts: 1,
      tokens: tokensOf(1),
      costUsd: null,
      toolCalls,
      tree: { toolCalls: 1, costUsd: null },
    }),
  );
  await kept.close();
});

it('D-3: a session that is suspended while its servers close waits for them, and has ended', async () => {
  const closing = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const server = new ScriptedServer();
  server.close = () => {
    closing.resolve();
    return closed.promise;
  };
  const agent = defineAgent({
    name: 'slow',
    models: [rehearsalModel([report()])],
    mcpServers: { slow: { transport: server } },
  });
  const session = startSession(agent, { prompt: 'Go.', journal: new MemoryJournal(), logger: false });
  await closing.promise;
  const suspended = session.suspend({ graceMs: 60_000 });
  closed.resolve();
  await suspended;
  const result = await session.result;
  assertInvariants(result);
  expect(result.status).toBe('succeeded');
  expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: result.counters.tokens }));
});
