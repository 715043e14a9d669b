import { describe, expect, it } from 'vitest';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { chatHandler, type PawlUIMessage } from '../../src/ui/index.ts';
import { read, sending, user } from '../support/chats.ts';
import { settled, toldJournal } from '../support/told-journal.ts';

/** Which of the calls that the journal holds back is answered next, by their number and that of the answers so far. */
const orders: Record<string, (waiting: number, answered: number) => number> = {
  'the first first': () => 0,
  'the last first': () => -1,
  'in turns': (waiting, answered) => (answered % 2 === 0 ? 0 : waiting - 1),
  'the middle first': (waiting) => waiting >> 1,
};

/** Every three of them are tried, in every order. */
const requests = ['sends', 'sends another', 'decides', 'decides elsewhere'] as const;
const permutations = requests.flatMap((one) =>
  requests.flatMap((two) =>
    requests.flatMap((three) => (new Set([one, two, three]).size === 3 ? [[one, two, three] as const] : [])),
  ),
);

/** Two chats, each with a session that waits for a decision, and then requests to the first of them. */
async function chats(order: (typeof orders)[string]) {
  const { agent } = sending();
  const told: string[] = [];
  const kept = new MemoryJournal({ leaseMs: 10 ** 9 });
  const onEvent = ({ type, sessionId }: { type: string; sessionId: string }) => void told.push(`${type} ${sessionId}`);
  const held = toldJournal(kept);
  const handle = chatHandler(agent, { logger: false, journal: held.journal, onEvent });
  let answered = 0;
  const answers = async <T>(all: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = all.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    while (!isOver) {
      await settled();
      await expect.poll(() => isOver || held.waiting().length > 0, { interval: 5, timeout: 5_000 }).toBe(true);
      const { length } = held.waiting();
      if (length === 0) continue;
      await held.answer(order(length, answered));
      answered += 1;
    }
    return over;
  };
  const post = (id: string, messages: unknown[]) =>
    handle(new Request('http://localhost/api/chat', { method: 'POST', body: JSON.stringify({ id, messages }) }));
  const asked = async (id: string) => answers(post(id, [user('Send it.')]).then((answer) => read(answer)));
  return { told, kept, answers, post, first: await asked('a'), second: await asked('ab') };
}

/** A message with the decision of a person, in the session of another chat if `id` changes its approval. */
function decided(message: PawlUIMessage, over: object = {}, id = (approval: string) => approval) {
  const parts = message.parts.map((part) =>
    'approval' in part && part.approval !== undefined
      ? { ...part, state: 'approval-responded', approval: { id: id(part.approval.id), approved: true } }
      : part,
  );
  return { ...message, ...over, parts };
}

/** A journal that answers the last first looks for messages before it goes on, which takes a quarter of a second. */
const tried = (name: string) => (name === 'the last first' ? permutations.slice(0, 6) : permutations);

describe.each(Object.entries(orders))('C-1, S-6: the journal answers %s', (name, order) => {
  it.each(tried(name))(
    '%s, %s, %s: each request has its own answer, and no other chat is touched',
    async (...kinds) => {
      const { told, kept, answers, post, first, second } = await chats(order);
      const elsewhere = { id: second.id, metadata: second.metadata };
      const messages = {
        sends: [user('Send this.')],
        'sends another': [user('Send that.')],
        decides: [user('Send it.'), decided(first)],
        'decides elsewhere': [user('Send it.'), decided(second, elsewhere)],
      };
      const before = told.length;
      const given = await answers(
        Promise.all(
          kinds.map(async (kind) => {
            const answer = await post('a', messages[kind]);
            return { kind, status: answer.status, text: await answer.text() };
          }),
        ),
      );
      await answers(settled());
      const of = (kind: (typeof requests)[number]) => given.find((one) => one.kind === kind);
      // A decision in the session of another chat is for nobody, although its id begins as that of this one.
      expect(of('decides elsewhere')?.status ?? 404).toBe(404);
      expect(told.slice(before).filter((event) => event.endsWith(' ab:1'))).toEqual([]);
      for (const { text, status } of given) if (status !== 404) expect(text).not.toContain('ab:1');
      // Each message has a session of its own, and the last of them waits.
      const sent = given.filter(({ kind }) => kind.startsWith('sends'));
      const ids = sent.map(({ text }) => /"messageId":"(a:\d+)"/.exec(text)?.[1]).toSorted();
      expect(ids).toEqual(['a:2', 'a:3'].slice(0, sent.length));
      const rows = await kept.list({ idPrefix: 'a:', status: 'running' });
      expect(rows.map(({ sessionId }) => sessionId)).toEqual(ids.slice(-1));
      // Either the decision came first and counts, or the session that it is for had ended by then.
      const [approved, aborting] = ['tool.approved a:1', 'session.aborting a:1'].map((event) => told.indexOf(event));
      if (approved !== -1 && aborting !== -1) expect(approved).toBeLessThan(aborting ?? 0);
      expect(told.some((event) => /^session\.(succeeded|aborted) a:1$/.test(event))).toBe(true);
    },
  );
});
