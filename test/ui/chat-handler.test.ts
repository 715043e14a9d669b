import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type SessionEvent, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler, followSession, type PawlUIMessage, toUIMessageStream } from '../../src/ui/index.ts';
import { chatOf, read, sending, user } from '../support/chats.ts';
import { freshFile } from '../support/journaled.ts';
import { messageOf } from '../support/ui.ts';

const logger = false as const;

/** The message as a page sends it once a person has decided. */
function decided(message: PawlUIMessage, approved: boolean, change: (id: string) => string = (id) => id) {
  const parts = message.parts.map((part) =>
    'approval' in part && part.approval !== undefined
      ? { ...part, state: 'approval-responded', approval: { id: change(part.approval.id), approved } }
      : part,
  );
  return { ...message, parts };
}

describe('C-1, S-6: the handler of chats', () => {
  it('answers the requests of a chat one after the other: two posts leave one session', async () => {
    const { agent } = sending();
    const { post, ask, events, starts } = chatOf(agent);
    const answers = await Promise.all([post([user('One.')]), post([user('Two.')])]);
    await Promise.all(answers.map((answer) => answer.text()));
    expect(starts()).toHaveLength(2);
    await ask('DELETE', '/c');
    // The answer does not wait for the end of the session.
    await expect.poll(() => events.filter((event) => event.startsWith('session.aborted'))).toHaveLength(2);
  });

  it('options that cannot be are refused when the handler is made', () => {
    const { agent } = sending();
    expect(() => chatHandler(agent, { jurnal: 1 } as never)).toThrow('Unknown option `options.jurnal`.');
    expect(() => chatHandler(agent, { journal: {} } as never)).toThrow('`options.journal` must be a journal');
    expect(() => chatHandler(agent, { budget: { requests: 0 } })).toThrow('`budget.requests`');
    expect(() => chatHandler({} as never)).toThrow('`agent` must be an agent made by defineAgent');
  });

  it('a message that is refused leaves the session that waits', async () => {
    const { agent } = sending();
    const { post, events, starts } = chatOf(agent);
    const message = await read(await post([user('Send.')]));
    expect((await post([user(undefined)])).status).toBe(400);
    expect((await post([{ id: 'm', role: 'assistant', parts: [{ type: 'tool-x' }] }])).status).toBe(400);
    expect((await post([{ id: 'm', role: 'assistant', parts: [{ type: 'tool-x', toolCallId: 5 }] }])).status).toBe(400);
    expect((await post([user('Send.'), { ...decided(message, true), metadata: undefined }])).status).toBe(400);
    expect(events.some((event) => event.startsWith('session.aborted'))).toBe(false);
    expect((await read(await post([user('Send.'), decided(message, true)]), message)).metadata?.status).toBe(
      'succeeded',
    );
    expect(starts()).toHaveLength(1);
  });

  it.each<[string, object, object]>([
    ['output', { state: 'output-available', output: { city: 'Bonn' } }, { type: 'text', value: '{"city":"Bonn"}' }],
    ['failure', { state: 'output-error', errorText: 'No GPS.' }, { type: 'error-text', value: 'No GPS.' }],
  ])('the %s of a client-side tool, from the page, is its answer', async (_, given, output) => {
    const where = tool({ inputSchema: z.object({}) });
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? { text: 'Noted.' } : { calls: [{ name: 'where', input: {} }] },
    );
    const agent = defineAgent({ name: 'locator', models: [model], tools: { where }, finish: 'text' });
    const journal = sqliteJournal(freshFile());
    const [one, other] = [chatOf(agent, journal), chatOf(agent, journal)];
    const message = await read(await one.post([user('Where am I?')]));
    expect(message.metadata?.status).toBe('waiting');
    const parts = message.parts.map((part) => (part.type === 'tool-where' ? { ...part, ...given } : part));
    // The process that runs the session is another.
    const answered = await read(await other.post([user('Where am I?'), { ...message, parts }]), message);
    expect(answered.metadata?.status).toBe('succeeded');
    expect(model.requests[1]?.prompt.at(-1)?.content).toMatchObject([{ type: 'tool-result', output }]);
    expect(model.requests).toHaveLength(2);
    await journal.close();
  });

  it('a decision that changes nothing is answered with what still waits', async () => {
    const { agent } = sending();
    const { post } = chatOf(agent);
    const message = await read(await post([user('Send.')]));
    const other = decided(message, true, (id) => `${id}9`);
    expect((await read(await post([user('Send.'), other]), message)).metadata?.status).toBe('waiting');
    const denied = await read(await post([user('Send.'), decided(message, false)]), message);
    expect(denied.metadata?.status).toBe('succeeded');
    // The same once more: the session has ended meanwhile.
    const again = await read(await post([user('Send.'), decided(message, false)]), message);
    expect(again.metadata?.status).toBe('succeeded');
  });

  it('a decision that comes too late finds how the session ended', async () => {
    const { agent } = sending({ approvalTimeoutMs: 1 });
    const { post, ask, events } = chatOf(agent);
    const message = await read(await post([user('Send.')]));
    while (!events.some((event) => event.startsWith('session.succeeded'))) await new Promise(setImmediate);
    const late = await read(await post([user('Send.'), decided(message, true)]), message);
    expect(late.metadata?.status).toBe('succeeded');
    expect(late.parts.some((part) => part.type === 'tool-send' && part.state === 'output-error')).toBe(true);
    expect((await ask('GET', '/c/stream')).status).toBe(204);
  });

  it('a chat finds its sessions in a journal by their ids alone', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    const queries: unknown[] = [];
    const list = journal.list.bind(journal);
    journal.list = (query) => {
      queries.push(query);
      return list(query);
    };
    const { agent } = sending();
    const { post, ask } = chatOf(agent, journal);
    await read(await post([user('Send.')]));
    expect((await ask('GET', '/c2/stream')).status).toBe(204);
    expect(new Set(queries.map((query) => JSON.stringify(query)))).toEqual(
      new Set(['c', 'c2'].map((id) => JSON.stringify({ idPrefix: `${id}:`, agent: 'sender' }))),
    );
    await ask('DELETE', '/c');
    await (await ask('GET', '/c/stream')).text();
    expect((await ask('GET', '/c/stream')).status).toBe(204);
    await journal.close();
  });

  it('D-3: a page joins the session that another process runs, also where an earlier one has ended', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file), sqliteJournal(file)];
    const { agent } = sending();
    const [first, second] = [chatOf(agent, one), chatOf(agent, other)];
    const message = await read(await first.post([user('Send.')]));
    await read(await first.post([user('Send.'), decided(message, true)]), message);
    expect((await first.ask('GET', '/c/stream')).status).toBe(204);
    await read(await second.post([user('Send again.')]));
    expect((await read(await first.ask('GET', '/c/stream'))).metadata?.status).toBe('waiting');
    await second.ask('DELETE', '/c');
    await Promise.all([one.close(), other.close()]);
  });

  it('D-3: finds the session that runs, whichever was written last, and ends all that have not ended', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file), sqliteJournal(file)];
    const { agent } = sending();
    const hanging = defineAgent({ ...agent.definition, models: [rehearsalModel([{ hangs: true }])] });
    const [first, second, third] = [chatOf(agent, one), chatOf(hanging, other), chatOf(agent, one)];
    await read(await first.post([user('Send.')]));
    const running = await second.post([user('Never mind.')]);
    await expect.poll(() => first.events.some((event) => event.startsWith('session.aborted'))).toBe(true);
    const joined = await third.ask('GET', '/c/stream');
    expect(joined.status).toBe(200);
    await third.ask('DELETE', '/c');
    await Promise.all([joined.text(), running.text()]);
    expect((await one.list({ idPrefix: 'c:' })).map(({ status }) => status)).toEqual(['aborted', 'aborted']);
    await Promise.all([one.close(), other.close()]);
  });

  it('D-3: a page goes on with a session that the process which ran it has left', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file), sqliteJournal(file)];
    const { agent } = sending();
    const hanging = defineAgent({ ...agent.definition, models: [rehearsalModel([{ hangs: true }])] });
    const left = startSession(hanging, { prompt: 'Send.', journal: one, sessionId: 'c:left', logger });
    for await (const { type } of left.events) if (type === 'attempt.started') break;
    const second = chatOf(agent, other);
    const pages = await Promise.all([second.ask('GET', '/c/stream'), second.ask('GET', '/c/stream')]);
    await left.suspend({ graceMs: 0 });
    for (const page of pages) expect((await read(page)).metadata?.status).toBe('waiting');
    expect(second.events.filter((event) => event.startsWith('session.resumed'))).toHaveLength(1);
    await second.ask('DELETE', '/c');
    await Promise.all([one.close(), other.close()]);
  });

  it('D-3: does not bring back a session that another has followed', async () => {
    const journal = sqliteJournal(freshFile());
    const { agent } = sending();
    const { post, ask } = chatOf(agent, journal);
    const messages = { prompt: 'Earlier.', journal, sessionId: 'c:earlier', logger };
    const earlier = startSession(agent, messages);
    for await (const { type } of earlier.events) if (type === 'tool.approvalRequested') break;
    await earlier.suspend({ graceMs: 0 });
    // An abort reaches the earlier session only once something runs it.
    const message = await read(await post([user('Send.')]));
    expect((await read(await post([user('Send.'), decided(message, true)]), message)).metadata?.status).toBe(
      'succeeded',
    );
    expect((await ask('GET', '/c/stream')).status).toBe(204);
    expect((await chatOf(agent, journal).ask('GET', '/c/stream')).status).toBe(204);
    await journal.close();
  });

  it('S-7: `context` and `metadata` may refuse a caller whatever is asked: to start, read, decide or abort', async () => {
    const { agent } = sending();
    const own = (request: Request) => {
      if (request.headers.get('x-user') !== 'ann') throw new Response('not yours', { status: 403 });
      return { user: 'ann' };
    };
    const aborts: string[] = [];
    const onEvent = ({ type }: SessionEvent) => void (type === 'session.aborting' && aborts.push(type));
    for (const hooks of [{ metadata: own }, { context: own }]) {
      const handle = chatHandler(agent, { logger, onEvent, ...hooks });
      const ask = (user: string, method: string, path: string, messages?: unknown[]) =>
        handle(
          new Request(`http://localhost/api/chat${path}`, {
            method,
            headers: { 'x-user': user },
            ...(messages !== undefined && { body: JSON.stringify({ id: 'c', messages }) }),
          }),
        );
      const message = await read(await ask('ann', 'POST', '', [user('Send.')]));
      const tried = [
        await ask('bob', 'POST', '', [user('Send.')]),
        await ask('bob', 'GET', '/c/stream'),
        await ask('bob', 'POST', '', [user('Send.'), decided(message, true)]),
        await ask('bob', 'DELETE', '/c'),
      ];
      expect(await Promise.all(tried.map(async (answer) => [answer.status, await answer.text()]))).toEqual(
        Array(4).fill([403, 'not yours']),
      );
      expect(aborts).toEqual([]);
      const ended = await read(await ask('ann', 'POST', '', [user('Send.'), decided(message, true)]), message);
      expect(ended.metadata?.status).toBe('succeeded');
    }
  });

  it('D-4: a session that its process let go of continues with the next decision', async () => {
    const journal = sqliteJournal(freshFile());
    const { agent, model } = sending();
    const { post } = chatOf(agent, journal);
    const message = await read(await post([user('Send.')]));
    const append = journal.append.bind(journal);
    journal.append = () => Promise.reject(new Error('the disk is full'));
    const [asked, decision] = [user('Send.'), decided(message, true)];
    expect((await read(await post([asked, decision]), message)).metadata?.status).toBe('suspended');
    journal.append = append;
    expect((await read(await post([asked, decision]), message)).metadata?.status).toBe('succeeded');
    expect(model.requests).toHaveLength(2);
    await journal.close();
  });

  it('D-3: following a session that another process runs ends with its reader', async () => {
    const journal = sqliteJournal(freshFile());
    const { agent } = sending();
    const session = startSession(agent, { prompt: 'Send.', journal, logger });
    for await (const { type } of session.events) if (type === 'tool.approvalRequested') break;
    let reads = 0;
    const entries = journal.read.bind(journal);
    journal.read = (id) => {
      reads += 1;
      return entries(id);
    };
    const followed = await followSession(journal, session.sessionId);
    const { message } = await messageOf(toUIMessageStream(followed));
    expect(message.metadata?.status).toBe('waiting');
    const events = followed.eventsFrom(1)[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    expect(await events.next()).toMatchObject({ done: true });
    const before = reads;
    session.abort();
    await session.result;
    const ended = await messageOf(toUIMessageStream(followed));
    expect(ended.message.metadata?.status).toBe('aborted');
    // Nobody but the last reader has read since.
    expect(reads).toBe(before + 1);
    await journal.close();
  });
});
