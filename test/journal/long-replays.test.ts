import { tool } from 'ai';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  defineAgent,
  deleteSession,
  readSession,
  replaySession,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { followSession } from '../../src/ui/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { freshFile, inputSchema, quiet, until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const turns = 300;

/** An agent that works for many turns, and asks at the end. */
function busy(seen = 'seen') {
  const model = rehearsalModel(({ prompt }) => {
    const answers = prompt.filter(({ role }) => role === 'tool').length;
    if (answers < turns) return { calls: [{ name: 'look', input: {} }] };
    return answers === turns ? { calls: [{ name: 'ask', input: {} }] } : report();
  });
  const look = tool({ inputSchema, execute: () => seen });
  const ask = tool({ inputSchema, needsApproval: true, execute: () => 'yes' });
  const limits = { maxTurns: turns + 10, maxRetries: 1 };
  return { model, agent: defineAgent({ name: 'busy', models: [model], tools: { look, ask }, limits }) };
}

/** Counts the turns that the event loop has until the test ends. */
function loopTurns() {
  let count = 0;
  let isOver = false;
  const turn = () => {
    count += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  onTestFinished(() => {
    isOver = true;
  });
  return () => count;
}

async function suspended() {
  const journal = new MemoryJournal({ leaseMs: 600 });
  const session = startSession(busy().agent, { prompt: 'Go.', ...quiet(journal) });
  for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
  await session.suspend();
  return journal;
}

describe('D-2d: a long replay', () => {
  it('lets the process do its other work, and its lease is renewed meanwhile', async () => {
    const journal = await suspended();
    const counted = loopTurns();
    const { agent, model } = busy();
    const before = counted();
    const session = await resumeSession(agent, quiet(journal));
    expect(counted() - before).toBeGreaterThan(3);
    expect((await journal.list({}))[0]).toMatchObject({ status: 'running', waiting: [expect.any(String)] });
    session.approve((await journal.list({}))[0]?.waiting[0] ?? '', { approved: true });
    const result = await session.result;
    expect([result.status, result.counters.turns, model.requests.length]).toEqual(['succeeded', turns + 2, 1]);
    const again = counted();
    // One that has ended gives its result, and is read, in the same way.
    expect((await (await resumeSession(agent, quiet(journal))).result).counters).toEqual(result.counters);
    expect(counted() - again).toBeGreaterThan(3);
    const reading = counted();
    expect((await readSession(journal, 's')).counters).toEqual(result.counters);
    expect((await replaySession(journal, 's')).difference).toBeNull();
    expect(counted() - reading).toBeGreaterThan(6);
  });

  it('is read from a file in pieces, and once', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    const session = startSession(busy('x'.repeat(2_000)).agent, { prompt: 'Go.', ...quiet(journal) });
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    await session.suspend();
    const all = await journal.read('s');
    expect(JSON.stringify(all).length).toBeGreaterThan(4 * 131_072);
    expect(await journal.read('s', all.length - 2)).toEqual(all.slice(-2));
    const asked: (number | undefined)[] = [];
    const counting = journalWith(journal, {
      read: (sessionId, after) => {
        asked.push(after);
        return journal.read(sessionId, after);
      },
    });
    const resumed = await resumeSession(busy().agent, quiet(counting));
    resumed.abort();
    await resumed.result;
    expect(asked).toEqual([undefined, all.length]);
    await journal.close();
  });

  it('is shared by those who follow the session at the same time', async () => {
    const journal = await suspended();
    const asked: number[] = [];
    const { read } = journal;
    journal.read = async (sessionId, after = 0) => {
      asked.push(after);
      return read.call(journal, sessionId, after);
    };
    const followed = await Promise.all([1, 2, 3, 4, 5].map(() => followSession(journal, 's')));
    const events = await Promise.all(
      followed.map(async (one) => {
        let count = 0;
        for await (const _ of one.eventsFrom(1)) count += 1;
        return count;
      }),
    );
    expect(new Set(events).size).toBe(1);
    expect(events[0]).toBeGreaterThan(turns);
    expect(asked.filter((after) => after === 0)).toHaveLength(1);
    // Other secrets make other events.
    await followSession(journal, 's', { secrets: ['another-secret'] });
    expect(asked.filter((after) => after === 0)).toHaveLength(2);
  });
});

it('D-2d: a session that is resumed while others run does not begin before it is wholly there', async () => {
  const journal = await suspended();
  const abort = new AbortController();
  const resuming = resumeSession(busy().agent, { ...quiet(journal), signal: abort.signal });
  const other = runSession(busy().agent, { prompt: 'Go.', logger: false, budget: { requests: 3 } });
  await new Promise(setImmediate);
  abort.abort(new Error('no more'));
  const session = await resuming;
  expect(await session.result).toMatchObject({ status: 'aborted', counters: { turns: turns + 1 } });
  expect((await other).counters.requests).toBe(3);
});

describe('S-6: who follows a session by its id', () => {
  const model = (said: string) => rehearsalModel([{ text: said }]);
  const talking = (said: string) => defineAgent({ name: 'talking', models: [model(said)], finish: 'text' });
  const textOf = async (journal: MemoryJournal) => {
    let text = '';
    for await (const event of (await followSession(journal, 's')).eventsFrom(1))
      if (event.type === 'model.delta') text += event.delta;
    return text;
  };

  it('sees the session that has it now, not one that was deleted', async () => {
    const journal = new MemoryJournal();
    await runSession(talking('The first.'), { prompt: 'Go.', ...quiet(journal) });
    expect(await textOf(journal)).toBe('The first.');
    const { createdAt = 0 } = (await journal.list({}))[0] ?? {};
    await until(() => Date.now() > createdAt);
    expect(await deleteSession(journal, 's')).toBe(true);
    await expect(followSession(journal, 's')).rejects.toMatchObject({ code: 'session_unknown' });
    await runSession(talking('The second.'), { prompt: 'Go.', ...quiet(journal) });
    expect(await textOf(journal)).toBe('The second.');
  });

  it('is told each time that the journal is damaged, and sees it whole once it is not', async () => {
    const journal = new MemoryJournal();
    await runSession(talking('All of it.'), { prompt: 'Go.', ...quiet(journal) });
    const { read } = journal;
    journal.read = async (...given) => (await read.apply(journal, given)).toSpliced(0, 1);
    for (const _ of [1, 2]) await expect(textOf(journal)).rejects.toMatchObject({ code: 'invalid_journal' });
    journal.read = read;
    expect(await textOf(journal)).toBe('All of it.');
  });
});
