import { expect, it } from 'vitest';
import { defineAgent, forkSession, resumeSession, runSession, sqliteJournal } from '../../src/index.ts';
import { billOf } from '../../src/journal/replay/bill.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

it('B-5d: a bill says which requests did not extend the one before, and how many tokens no cache was read for', async () => {
  const model = rehearsalModel([
    { calls: [{ name: 'look', input: {} }] },
    { calls: [{ name: 'look', input: {} }] },
    { calls: [{ name: 'final_report', input: { content: 'Done.' } }] },
  ]);
  const agent = defineAgent({
    name: 'billed',
    models: [model],
    tools: { look: () => 'seen' },
    prepareTurn: ({ turn }) => (turn === 2 ? { instructions: 'Be brief.' } : undefined),
  });
  const journal = sqliteJournal(':memory:');
  const { sessionId, counters } = await runSession(agent, { prompt: 'Look.', journal, logger: false });
  const { requests } = billOf(await journal.read(sessionId));
  const [first, second, third] = requests;
  expect(requests.map(({ prefixBreak }) => prefixBreak)).toEqual([null, 'instructions', 'instructions']);
  expect(counters.cachePrefixBreaks).toEqual({ instructions: 2 });
  expect([second?.brokenTokens, third?.brokenTokens]).toEqual([first?.usage.input, second?.usage.input]);
});

it('a fork is charged for what it sent itself', async () => {
  const model = rehearsalModel(({ prompt }) =>
    prompt.filter(({ role }) => role === 'tool').length < 2
      ? { calls: [{ name: 'look', input: {} }] }
      : { calls: [{ name: 'final_report', input: { content: 'Done.' } }] },
  );
  const agent = defineAgent({ name: 'forked', models: [model], tools: { look: () => 'seen' } });
  const journal = sqliteJournal(':memory:');
  await runSession(agent, { prompt: 'Look.', journal, sessionId: 's', logger: false });
  const fork = await forkSession(journal, 's', { at: 'turn-3' });
  await (await resumeSession(agent, { journal, sessionId: fork, logger: false })).result;
  const again = await forkSession(journal, fork, { at: 'turn-2' });
  const billed = async (id: string) => billOf(await journal.read(id)).requests.map(({ turn }) => turn);
  expect([await billed('s'), await billed(fork), await billed(again)]).toEqual([[1, 2, 3], [3], []]);
  await journal.close();
});
