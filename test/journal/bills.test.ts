import { expect, it } from 'vitest';
import { defineAgent, runSession, sqliteJournal } from '../../src/index.ts';
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
