import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listSessions, sqliteJournal } from '../../src/index.ts';
import { type ModelServer, startModelServer } from '../../src/testing/index.ts';
import type { PawlUIMessage } from '../../src/ui/index.ts';
import { until } from '../support/journaled.ts';
import { shownParts } from '../support/ui.ts';

const browserPath = '/usr/bin/chromium';
if (!existsSync(browserPath)) process.stderr.write('No Chromium from Debian (apt-get install chromium): skipped.\n');

/** What the model does: it goes by the last message of the user, and by whether a tool has answered since. */
function script({ body }: { body: unknown }) {
  const { messages, tools } = body as { messages: { role: string; content: unknown }[]; tools?: unknown[] };
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const text = JSON.stringify(messages[asked]?.content ?? '');
  const answered = messages.slice(asked).find(({ role }) => role === 'tool');
  if (text.includes('response_truncated')) return { text: 'The right one.', delayMs: 300 };
  if (text.includes('stumble')) return { text: 'The wrong beginning', finishReason: 'length' as const };
  if (answered !== undefined) return { text: `Done: ${String(answered.content)}` };
  if (text.includes('delegate') && tools?.some((tool) => JSON.stringify(tool).includes('helper')) === true)
    return { calls: [{ name: 'helper', input: { prompt: 'Please send it.', reason: 'It can.' } }] };
  if (text.includes('send')) return { text: 'I ask first.', calls: [{ name: 'send', input: { to: 'Ada' } }] };
  if (text.includes('hold')) return { text: 'I work on it.', calls: [{ name: 'hold', input: {} }] };
  return { text: 'Hello, I am here.' };
}

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

let model: ModelServer;
const processes: ChildProcess[] = [];
const file = join(mkdtempSync(join(tmpdir(), 'pawl-chat-')), 'pawl.db');

async function startServer(): Promise<string> {
  const args = ['--no-warnings', join(import.meta.dirname, '../support/chat-server.ts'), model.url, file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  processes.push(child);
  return new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())));
}

beforeAll(async () => {
  model = await startModelServer(script);
});
afterAll(async () => {
  for (const child of processes) child.kill('SIGKILL');
  await model.close();
});

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
    const sent = model.requests.at(-1)?.body as { messages: { role: string }[] } | undefined;
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
    processes.at(-1)?.kill('SIGKILL');
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

describe.skipIf(!existsSync(browserPath))('S-6: a page with useChat in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: browserPath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  afterAll(() => browser?.close());

  it('chats, approves, denies, reloads in the middle and aborts', async () => {
    const server = await startServer();
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(server);
    const say = async (text: string) => {
      await page.fill('input', text);
      await page.press('input', 'Enter');
    };
    const last = page.locator('section[data-role="assistant"]').last();
    const ends = (status: string) => last.locator('footer', { hasText: status }).waitFor();
    await say('Hi.');
    await last.getByText('Hello, I am here.').waitFor();
    await ends('succeeded');

    await say('Please send it.');
    await page.getByRole('button', { name: 'Approve' }).click();
    await last.getByText('Done: sent to Ada').waitFor();
    await ends('succeeded');

    await say('Please send it.');
    await page.getByRole('button', { name: 'Deny' }).click();
    await last.getByText('output-denied').waitFor();
    await ends('succeeded');

    await say('Please hold.');
    await last.getByText('I work on it.').waitFor();
    await last.getByText('input-available').waitFor();
    await page.reload();
    await last.getByText('I work on it.').waitFor();
    await last.getByText('input-available').waitFor();
    expect(await page.locator('section[data-role="assistant"]').count()).toBe(1);
    await page.request.get(`${server}/release`);
    await last.getByText('Done: released').waitFor();
    await ends('succeeded');
    expect(await last.locator('p').allTextContents()).toEqual(['I work on it.', 'Done: released']);

    // Text of an attempt that failed may be seen for a moment, and is taken back.
    await say('Please stumble.');
    await last.getByText('The right one.').waitFor();
    await ends('succeeded');
    expect(await last.locator('p').allTextContents()).toEqual(['The right one.']);

    await say('Please hold.');
    await last.getByText('input-available').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await ends('aborted');
    if (process.env.PAWL_SCREENSHOT !== undefined) await page.screenshot({ path: process.env.PAWL_SCREENSHOT });
    expect(problems).toEqual([]);

    const journal = sqliteJournal(file);
    const sessions = (await listSessions(journal)).filter(({ sessionId }) => sessionId.startsWith('page-chat:'));
    await journal.close();
    expect(sessions.map(({ status, slugs }) => [status, slugs]).toReversed()).toEqual([
      ['succeeded', []],
      ['succeeded', []],
      ['succeeded', []],
      ['succeeded', []],
      ['succeeded', []],
      ['aborted', ['aborted']],
    ]);
  });
});
