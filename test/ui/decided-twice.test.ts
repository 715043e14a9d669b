import { expect, it } from 'vitest';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { chatOf, read, sending, user } from '../support/chats.ts';

it('S-6: a call that was decided is not asked for again, though the decision is not written down yet', async () => {
  const { agent, model } = sending();
  const journal = new MemoryJournal();
  const { append } = journal;
  const slow = { isOn: false, waiting: [] as (() => void)[] };
  journal.append = async (...given) => {
    if (slow.isOn) await new Promise<void>((resolve) => slow.waiting.push(resolve));
    await append.apply(journal, given);
  };
  const { ask, post } = chatOf(agent, journal);
  const asked = await read(await post([user('Send it.')]));
  const part = asked.parts.find((one) => 'approval' in one) as { approval: { id: string } };
  Object.assign(part, { state: 'approval-responded', approval: { id: part.approval.id, approved: true } });
  slow.isOn = true;
  const first = await post([user('Send it.'), asked]);
  // Another tab decides the same, and a page is loaded again.
  const answers = [first, await post([user('Send it.'), asked]), await ask('GET', '/c/stream')];
  const messages = Promise.all(answers.map((answer, index) => read(answer, index < 2 ? asked : undefined)));
  slow.isOn = false;
  for (const write of slow.waiting.splice(0)) write();
  for (const { metadata, parts } of await messages) {
    expect(metadata).toMatchObject({ status: 'succeeded' });
    expect(parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'Sent.' }));
  }
  expect(model.requests).toHaveLength(2);
});
