import { existsSync } from 'node:fs';
import { tool } from 'ai';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { eventLoop } from '../../src/host/event-loop.ts';
import { defineAgent, sqliteJournal, startSession } from '../../src/index.ts';
import { WatchedJournal } from '../../src/inspect/live/watched-journal.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';

it.each(['plain', 'watched'])(
  'D-3: a session that waits ends as suspended when its journal is closed: %s',
  async (kind) => {
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' });
    const models = [rehearsalModel(() => ({ calls: [{ name: 'pay' }] }))];
    const agent = defineAgent({ name: 'paying', models, tools: { pay } });
    const journal = kind === 'plain' ? sqliteJournal(':memory:') : new WatchedJournal(sqliteJournal(':memory:'));
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const failed: string[] = [];
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'tool.approvalRequested') asked();
      if (type === 'observer.failed') failed.push(type);
    };
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, onEvent });
    await isAsked;
    expect(journal.isClosed).toBe(false);
    await journal.close();
    expect(journal.isClosed).toBe(true);
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(failed).toEqual([]);
  },
);

/** A journal in a file, at a moment when what it does waits for a turn of the event loop. */
async function journalThatWaits() {
  await new Promise(setImmediate);
  // The mocked time starts at the real time, so that a slice that has already begun still ends.
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const file = freshFile();
  const journal = sqliteJournal(file);
  while (!eventLoop.isDue);
  return { file, journal };
}

it('D-3: a write that waits for its turn is done before its journal closes', async () => {
  const { file, journal } = await journalThatWaits();
  const writing = journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'one', entries: [] });
  const closing = journal.close();
  expect(journal.isClosed).toBe(true);
  await Promise.all([writing, closing]);
  const again = sqliteJournal(file);
  expect(await again.list({})).toMatchObject([{ sessionId: 's' }]);
  await again.close();
});

it('D-3: a journal of which nothing waits closes at once, as while its process exits', async () => {
  const { file, journal } = await journalThatWaits();
  await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'one', entries: [] });
  expect(existsSync(`${file}-wal`)).toBe(true);
  void journal.close();
  expect(existsSync(`${file}-wal`)).toBe(false);
});
