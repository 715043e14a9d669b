import { tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

it('D-3: a session that waits ends as suspended when its journal is closed', async () => {
  const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' });
  const models = [rehearsalModel(() => ({ calls: [{ name: 'pay' }] }))];
  const agent = defineAgent({ name: 'paying', models, tools: { pay } });
  const journal = sqliteJournal(':memory:');
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const onEvent = ({ type }: { type: string }) => void (type === 'tool.approvalRequested' && asked());
  const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, onEvent });
  await isAsked;
  expect(journal.isClosed).toBe(false);
  await journal.close();
  expect(journal.isClosed).toBe(true);
  expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
});
