import { expect, it } from 'vitest';
import { sqliteJournal } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/chat/chat-handler.ts';
import { agentOf, post } from '../support/chat-requests.ts';
import { expectForgotten } from '../support/in-memory.ts';
import { report } from '../support/session.ts';

it('D-3: with a journal, a chat handler keeps no session that has ended', async () => {
  const journal = sqliteJournal(':memory:');
  const contexts: WeakRef<object>[] = [];
  const context = () => {
    const given = { of: 'one session' };
    contexts.push(new WeakRef(given));
    return given;
  };
  const handler = chatHandler(agentOf([], { models: [rehearsalModel(() => report())] }), {
    journal,
    context,
    logger: false,
  });
  for (let chat = 0; chat < 8; chat += 1) expect(await (await handler(post(`c${chat}`))).text()).toContain('"finish"');
  expect(contexts).toHaveLength(8);
  await expectForgotten(contexts);
  await journal.close();
});
