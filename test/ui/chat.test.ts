import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PawlUIMessage } from '../../src/ui/index.ts';
import { until } from '../support/journaled.ts';
import { type ServedChat, servedChat } from '../support/served-chat.ts';
import { shownParts } from '../support/ui.ts';

class State implements ChatState<PawlUIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined = undefined;
  messages: PawlUIMessage[] = [];
  pushMessage = (message: PawlUIMessage) => void this.messages.push(message);
  popMessage = () => void this.messages.pop();
  replaceMessage = (index: number, message: PawlUIMessage) => {
    this.messages[index] = message;
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

class Chat extends AbstractChat<PawlUIMessage> {}

let served: ServedChat;
const startServer = () => served.start();

beforeAll(async () => {
  served = await servedChat();
});
afterAll(() => served.close());

const chatOn = (server: string, id: string, state = new State()) => {
  const chat = new Chat({
    id,
    state,
    transport: new DefaultChatTransport({ api: `${server}/api/chat` }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return { chat, state };
};

const statuses = (state: State) => state.messages.map(({ metadata }) => metadata?.status ?? null);

describe('C-1, S-6, D-3: a chat over HTTP, by the client of the SDK', () => {
  it('answers, asks for approval, and takes the decision, with the history of the chat', async () => {
    const server = await startServer();
    const { chat, state } = chatOn(server, 'one');
    await chat.sendMessage({ text: 'Hi.' });
    expect(shownParts(state.messages[1] as PawlUIMessage)).toEqual([['text', 'Hello, I am here.', 'done']]);
    await chat.sendMessage({ text: 'Please send it.' });
    expect(statuses(state)).toEqual([null, 'succeeded', null, 'waiting']);
    const part = state.messages[3]?.parts.find((one) => 'approval' in one && one.approval !== undefined);
    if (part === undefined || !('approval' in part)) throw new Error('no approval is asked for');
    await chat.addToolApprovalResponse({ id: part.approval?.id ?? '', approved: true });
    await until(() => state.status === 'ready' && statuses(state)[3] === 'succeeded');
    expect(shownParts(state.messages[3] as PawlUIMessage)).toEqual([
      ['text', 'I ask first.', 'done'],
      ['tool', 'send', expect.any(String), { to: 'Ada' }, 'output-available', 'sent to Ada'],
      ['text', 'Done: sent to Ada', 'done'],
    ]);
    const sent = served.model.requests.at(-1)?.body as { messages: { role: string }[] } | undefined;
    expect(sent?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
  });

  it('a decision reaches the session that another process runs, and its end reaches the page', async () => {
    const [one, other] = [await startServer(), await startServer()];
    const { chat, state } = chatOn(one, 'two');
    await chat.sendMessage({ text: 'Please send it.' });
    expect(statuses(state)).toEqual([null, 'waiting']);
    const elsewhere = chatOn(other, 'two', state);
    const part = state.messages[1]?.parts.find((one) => 'approval' in one && one.approval !== undefined);
    if (part === undefined || !('approval' in part)) throw new Error('no approval is asked for');
    await elsewhere.chat.addToolApprovalResponse({ id: part.approval?.id ?? '', approved: false, reason: 'Not now.' });
    await until(() => state.status === 'ready' && statuses(state)[1] === 'succeeded');
    expect(shownParts(state.messages[1] as PawlUIMessage)[1]).toEqual([
      'tool',
      'send',
      expect.any(String),
      { to: 'Ada' },
      'output-denied',
      '',
    ]);
    expect(await (await fetch(`${one}/release`)).json()).toEqual([]);
  });

  it("B-7: a decision on a sub-agent's call is sent, and the session continues", async () => {
    const server = await startServer();
    const { chat, state } = chatOn(server, 'four');
    await chat.sendMessage({ text: 'Please delegate it.' });
    expect(statuses(state)).toEqual([null, 'waiting']);
    const part = state.messages[1]?.parts.find((one) => 'approval' in one && one.approval !== undefined);
    if (part === undefined || !('approval' in part)) throw new Error('no approval is asked for');
    await chat.addToolApprovalResponse({ id: part.approval?.id ?? '', approved: true });
    await until(() => state.status === 'ready' && statuses(state)[1] === 'succeeded');
    expect(await (await fetch(`${server}/release`)).json()).toEqual(['Ada']);
    expect(shownParts(state.messages[1] as PawlUIMessage)[0]).toEqual([
      'tool',
      'helper',
      expect.any(String),
      expect.any(Object),
      'output-available',
      'Done: sent to Ada',
    ]);
  });

  it('a session whose process died is resumed by the next that is asked for its chat', async () => {
    const one = await startServer();
    const { chat } = chatOn(one, 'three');
    await chat.sendMessage({ text: 'Please send it.' });
    served.kill();
    const next = await startServer();
    const { chat: later, state } = chatOn(next, 'three');
    state.messages = chat.messages;
    const part = state.messages[1]?.parts.find((one) => 'approval' in one && one.approval !== undefined);
    if (part === undefined || !('approval' in part)) throw new Error('no approval is asked for');
    await later.addToolApprovalResponse({ id: part.approval?.id ?? '', approved: true });
    await until(() => state.status === 'ready' && statuses(state)[1] === 'succeeded');
    expect(await (await fetch(`${next}/release`)).json()).toEqual(['Ada']);
  });

  it('bad input is refused with a sentence', async () => {
    const server = await startServer();
    const post = async (body: string) => {
      const answer = await fetch(`${server}/api/chat`, { method: 'POST', body });
      return [answer.status, await answer.json()];
    };
    expect(await post('{')).toEqual([400, { error: expect.stringContaining('The body is not JSON') }]);
    expect(await post('{"id":"x"}')).toEqual([400, { error: expect.stringContaining('`body.messages`') }]);
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
    expect(await post(JSON.stringify({ id: 'a/b', messages: [message] }))).toEqual([
      400,
      { error: '`id` must be 1 to 128 letters, digits, _ or -; got "a/b".' },
    ]);
    const decided = {
      id: 'foreign:1',
      role: 'assistant',
      metadata: { seq: 1 },
      parts: [
        {
          type: 'tool-send',
          toolCallId: 'c',
          state: 'approval-responded',
          input: { to: 'x' },
          approval: { id: 'foreign%3A1/c', approved: true },
        },
      ],
    };
    expect(await post(JSON.stringify({ id: 'mine', messages: [message, decided] }))).toEqual([
      404,
      { error: 'The chat mine has no session foreign:1.' },
    ]);
    expect((await fetch(`${server}/api/chat/mine/stream`)).status).toBe(204);
    expect((await fetch(`${server}/api/chat`, { method: 'PUT' })).status).toBe(405);
  });
});
