import { expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { localTool } from '../../src/tools/local.ts';
import { emptyCatalog } from '../support/catalog.ts';
import { counters, report, tokensOf } from '../support/session.ts';

it('if two tool lists are shown at once, the later one is offered, whichever is ready first', async () => {
  const catalog = emptyCatalog();
  const older = localTool('older', () => 1);
  const newer = localTool('newer', () => 2);
  const { promise, resolve } = Promise.withResolvers<Awaited<typeof older.offered>>();
  const first = catalog.show(new Map([['older', { ...older, offered: promise }]]));
  await catalog.show(new Map([['newer', newer]]));
  resolve(await older.offered);
  await first;
  expect(catalog.offered('all').map(({ name }) => name)).toEqual(['newer']);
});

it('all sessions of an agent offer the same tools, even after a journal has changed the list that it was given', async () => {
  const model = rehearsalModel([report(), report()]);
  const agent = defineAgent({ name: 'a', models: [model], tools: { echo: () => 1 } });
  const journal = new MemoryJournal();
  const { append, create } = journal;
  const emptied: typeof append = (sessionId, given) => {
    for (const entry of given.entries) if (entry.type === 'offered') (entry.tools as unknown[]).length = 0;
    return append.call(journal, sessionId, given);
  };
  journal.append = emptied;
  journal.create = (session, given) => create.call(journal, session, given);
  const results = [
    await runSession(agent, { prompt: 'Go.', journal, logger: false }),
    await runSession(agent, { prompt: 'Go.', logger: false }),
  ];
  expect(model.requests.map(({ tools }) => tools)).toEqual([
    ['echo', 'final_report'],
    ['echo', 'final_report'],
  ]);
  const each = counters({
    ...{ turns: 1, attempts: 1, requests: 1, tokens: tokensOf(1), reports: { attempted: 1 }, costUsd: null },
    toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
  });
  for (const { counters: counted } of results) expect(counted).toEqual(each);
});
