import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { sqliteJournal } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/chat-handler.ts';
import { agentOf, post } from '../support/chat-requests.ts';
import { report } from '../support/session.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

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
  const inMemory = () => {
    collect();
    return contexts.filter((one) => one.deref() !== undefined).length;
  };
  await expect.poll(inMemory).toBeLessThanOrEqual(1);
  await journal.close();
});
