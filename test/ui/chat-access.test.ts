import { describe, expect, it } from 'vitest';
import { type Agent, type Journal, sqliteJournal } from '../../src/index.ts';
import { type ChatAction, type ChatOptions, chatHandler, type PawlUIMessage } from '../../src/ui/index.ts';
import { read, sending, user } from '../support/chats.ts';
import { freshFile } from '../support/journaled.ts';

const logger = false as const;

/** A handler, the requests to it, and what its sessions told. */
function chats(agent: Agent, options: ChatOptions & { journal?: Journal } = {}) {
  const told: string[] = [];
  const onEvent: ChatOptions['onEvent'] = ({ type, sessionId }) => void told.push(`${type} ${sessionId}`);
  const handle = chatHandler(agent, { logger, onEvent, ...options });
  const ask = (method: string, path: string, body?: unknown, who = 'ann') =>
    handle(
      new Request(`http://localhost${path}`, {
        method,
        headers: { 'x-user': who },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  const post = (id: string, messages: unknown[], who?: string) => ask('POST', '/api/chat', { id, messages }, who);
  return { ask, post, told };
}
function decided(message: PawlUIMessage, change: (id: string) => string = (id) => id) {
  const parts = message.parts.map((part) =>
    'approval' in part && part.approval !== undefined
      ? { ...part, state: 'approval-responded', approval: { id: change(part.approval.id), approved: true } }
      : part,
  );
  return { ...message, parts };
}

describe('where a chat is', () => {
  it.each([
    ['GET', '/api/chat/mine/alice/stream'],
    ['GET', '/api/chat/alice/mine/stream'],
    ['GET', '/chat/alice/stream'],
    ['GET', '/api/chatalice/stream'],
    ['DELETE', '/api/chat/mine/alice'],
    ['DELETE', '/api/chat'],
    ['DELETE', '/alice'],
  ])('%s %s is nowhere', async (method, path) => {
    const { agent } = sending();
    const { ask, post, told } = chats(agent);
    await read(await post('alice', [user('Send.')]));
    expect((await ask(method, path)).status).toBe(404);
    expect(told.filter((event) => event.startsWith('session.abort'))).toEqual([]);
  });

  it.each([
    ['/', '/alice'],
    ['/v1/talk/', '/v1/talk/alice'],
  ])('is below the path %s', async (path, place) => {
    const { agent } = sending();
    const { ask, post } = chats(agent, { path });
    await read(await post('alice', [user('Send.')]));
    expect((await ask('GET', `${place}/stream`)).status).toBe(200);
    expect((await ask('DELETE', place)).status).toBe(204);
  });

  it('an unusable path is refused', () => {
    expect(() => chatHandler(sending().agent, { path: 'chat' })).toThrow('`options.path` must be a path');
  });
});

describe('who may use a chat', () => {
  it('is asked of every request, with what it asks for', async () => {
    const { agent } = sending();
    const asked: Omit<ChatAction, 'request'>[] = [];
    const authorize = ({ request, ...action }: ChatAction) => {
      asked.push(action);
      return request.headers.get('x-user') === action.chatId;
    };
    const { ask, post } = chats(agent, { authorize });
    const message = await read(await post('ann', [user('Send.')]));
    await (await ask('GET', '/api/chat/ann/stream')).body?.cancel();
    const answer = [user('Send.'), decided(message)];
    const refused = [
      await post('ann', [user('Send.')], 'bob'),
      await ask('GET', '/api/chat/ann/stream', undefined, 'bob'),
      await post('ann', answer, 'bob'),
      await ask('DELETE', '/api/chat/ann', undefined, 'bob'),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await read(await post('ann', answer), message)).metadata?.status).toBe('succeeded');
    const [chatId, sessionId] = ['ann', message.id];
    expect(asked).toEqual([
      { chatId, sessionId: null, action: 'send' },
      { chatId, sessionId: null, action: 'join' },
      { chatId, sessionId: null, action: 'send' },
      { chatId, sessionId: null, action: 'join' },
      { chatId, sessionId, action: 'decide' },
      { chatId, sessionId: null, action: 'abort' },
      { chatId, sessionId, action: 'decide' },
    ]);
  });

  it('may depend on the body of the request', async () => {
    const ids: unknown[] = [];
    const authorize = async ({ request }: ChatAction) => {
      ids.push(await request.json());
      return true;
    };
    const messages = [user('Send.')];
    expect((await chats(sending().agent, { authorize }).post('ann', messages)).status).toBe(200);
    expect(ids).toEqual([{ id: 'ann', messages }]);
  });

  it.each<[string, unknown, number]>([
    ['says nothing', () => undefined, 403],
    ['says yes by a word', () => 'yes', 403],
    ['promises true', async () => true, 200],
    ['throws an answer', () => Promise.reject(new Response('log in', { status: 401 })), 401],
    ['throws', () => Promise.reject(new Error('the session store is away')), 500],
  ])('an application that %s: the status', async (_name, authorize, status) => {
    const { post } = chats(sending().agent, { authorize: authorize as never });
    expect((await post('ann', [user('Send.')])).status).toBe(status);
  });
});

describe('an approval with an unknown id', () => {
  it.each<[string, (id: string) => string]>([
    ['that another library made', () => 'approval-7'],
    ['of another chat', (id) => id.replace(/^ann/, 'bob')],
  ])('%s is a 404, and aborts nothing', async (_name, change) => {
    const { agent } = sending();
    const { post, told } = chats(agent);
    const message = await read(await post('ann', [user('Send.')]));
    const id = change('ann') === 'bob' ? message.id.replace(/^ann/, 'bob') : message.id;
    const refused = await post('ann', [user('Send.'), { ...decided(message, change), id }]);
    expect(refused.status).toBe(404);
    expect(told.filter((event) => event.startsWith('session.abort'))).toEqual([]);
    expect((await read(await post('ann', [user('Send.'), decided(message)]), message)).metadata?.status).toBe(
      'succeeded',
    );
  });
});

describe('how many sessions run', () => {
  it('a session beyond `maxSessions` is a 503; one that replaces another of its chat is not', async () => {
    const { agent } = sending();
    const { ask, post } = chats(agent, { maxSessions: 1 });
    await read(await post('ann', [user('Send.')]));
    const full = await post('bob', [user('Send.')]);
    expect([full.status, await full.json()]).toEqual([
      503,
      { error: 'the server already runs 1 sessions, its limit (maxSessions); try again later' },
    ]);
    expect((await post('ann', [user('Again.')])).status).toBe(200);
    await ask('DELETE', '/api/chat/ann');
    expect((await post('bob', [user('Send.')])).status).toBe(200);
  });

  it('the one that a message begins takes the place of the one before, also once that has ended', async () => {
    const { agent } = sending();
    const { post, told } = chats(agent, { maxSessions: 1, journal: sqliteJournal(freshFile()) });
    for (const number of [1, 2, 3]) {
      expect((await post('ann', [user('Send.')])).status).toBe(200);
      await expect.poll(() => told.filter((event) => event.startsWith('session.aborted'))).toHaveLength(number - 1);
    }
  });

  it('… and while that still ends', async () => {
    const { agent } = sending();
    const { post, ask } = chats(agent, { maxSessions: 1, journal: sqliteJournal(freshFile()) });
    for (let number = 1; number <= 5; number += 1) expect((await post('ann', [user('Send.')])).status).toBe(200);
    expect((await post('bob', [user('Send.')])).status).toBe(503);
    await ask('DELETE', '/api/chat/ann');
  });

  it('one of a chat, also over several processes with one journal', async () => {
    const file = freshFile();
    const journals = [sqliteJournal(file), sqliteJournal(file), sqliteJournal(file)];
    const { agent } = sending();
    const hosts = journals.map((journal) => chats(agent, { journal }));
    const messages = await Promise.all(hosts.map(async ({ post }) => await post('ann', [user('Send.')])));
    expect(messages.map(({ status }) => status)).toEqual([200, 200, 200]);
    await Promise.all(messages.map((message) => message.text()));
    const [journal] = journals;
    const rows = async () => (await journal?.list({ idPrefix: 'ann:' })) ?? [];
    expect((await rows()).map(({ sessionId }) => sessionId).toSorted()).toEqual(['ann:1', 'ann:2', 'ann:3']);
    await expect
      .poll(async () => (await rows()).filter(({ status }) => status === 'running' || status === 'suspended').length)
      .toBe(1);
    const [unended] = (await rows()).filter(({ status }) => status === 'running' || status === 'suspended');
    expect(unended?.sessionId).toBe('ann:3');
    await hosts[0]?.ask('DELETE', '/api/chat/ann');
    await Promise.all(journals.map((one) => one.close()));
  });
});
