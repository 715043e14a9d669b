import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PawlError, type SessionEvent, sqliteJournal, startSession } from '../../src/index.ts';
import type { RehearsalScript } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/chat/chat-handler.ts';
import type { ChatOptions } from '../../src/ui/chat/chat-options.ts';
import { agentOf, ask, handlerOf, post, said, waiting } from '../support/chat-requests.ts';
import { report } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

const chunksOf = async (response: Response): Promise<{ type: string; [field: string]: unknown }[]> =>
  (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
const startOf = (chunks: { type: string; [field: string]: unknown }[]) =>
  chunks.find(({ type }) => type === 'start') as unknown as { messageId: string; messageMetadata: { seq: number } };
const endOf = (chunks: { type: string; [field: string]: unknown }[]) =>
  chunks.at(-1) as unknown as { messageMetadata: { seq: number; status: string } };
/** The page's message of a session that waits, with a person's decision on its one call. */
const decision = (id: string, seq: number, approved: boolean, callId: string) => ({
  ...{ id, role: 'assistant', metadata: { seq } },
  parts: [
    {
      ...{ type: 'tool-guarded', toolCallId: callId, state: 'approval-responded', input: { path: 'a' } },
      approval: { id: `${encodeURIComponent(id)}/${encodeURIComponent(callId)}`, approved },
    },
  ],
});
const inNeed = agentOf([], { name: 'helper', description: 'Helps.', contextSchema: z.object({ user: z.string() }) });
const callIdOf = (chunks: { type: string; [field: string]: unknown }[]) =>
  String(chunks.find(({ type }) => type === 'tool-approval-request')?.toolCallId);

describe('what chatHandler is given', () => {
  it.each<[unknown, unknown, string]>([
    [{}, {}, '`agent` must be an agent made by defineAgent'],
    [agentOf([]), { retries: 3 }, 'Unknown option `options.retries`'],
    [agentOf([]), { journal: {} }, '`options.journal`'],
    [agentOf([], { contextSchema: z.object({ user: z.string() }) }), {}, '`context (for the agent'],
    [agentOf([], { agents: { helper: inNeed } }), {}, '`context (for the agent helper)` is required'],
  ])('is checked: %#', (agent, options, message) => {
    const refused = () => chatHandler(agent as never, options as never);
    expect(refused).toThrow(
      expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining(message) }),
    );
  });

  it('may be the agent alone', async () => {
    const handler = chatHandler(agentOf([]));
    expect((await handler(ask('/c1/stream'))).status).toBe(204);
    expect(() => chatHandler(agentOf([]), { budget: { maxUsd: -1 } as never })).toThrow(PawlError);
  });
});

describe('a request of a page', () => {
  it.each<[string, Request, string]>([
    ['a body that is no JSON', ask('', 'POST', '{'), 'The body is not JSON: '],
    ['no body', ask('', 'POST'), 'The body is not JSON: '],
    [
      'a body of 501 levels',
      ask('', 'POST', `${'['.repeat(501)}${']'.repeat(501)}`),
      'nested more than 500 levels deep.',
    ],
    ['no messages', post('c1', []), '`body.messages`'],
    [
      'a message without parts',
      post('c1', [{ ...said, parts: [] }]),
      '`body.messages` must hold at least one message with content; got none.',
    ],
    [
      'a text part without its text',
      post('c1', [{ ...said, parts: [{ type: 'text' }] }]),
      '`body.messages[0].parts[0]` must be a part with its text; got {"type":"text"}.',
    ],
    ['an odd id', post('c 1'), '`id` must be 1 to 128 letters, digits, _ or -; got "c 1".'],
    ['a long id', post('c'.repeat(129)), '`id` must be 1 to 128 letters'],
    ['an odd id in its path', ask('/c%201/stream'), '`id` must be 1 to 128 letters'],
    ['an odd id to abort', ask('/c%201', 'DELETE'), '`id` must be 1 to 128 letters'],
  ])('is refused with a sentence: %s', async (_, request, message) => {
    const response = await handlerOf([])(request);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toContain(message);
  });

  it.each([{}, { context: () => null }])('is left where its body is too large: %#', async (options) => {
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(4_000_000)),
      cancel: () => cancelled.resolve(),
    });
    const request = new Request('http://x.test/api/chat', { method: 'POST', body, duplex: 'half' } as RequestInit);
    const response = await handlerOf([], options)(request);
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: 'The body is larger than 33554432 bytes.' },
    ]);
    await cancelled.promise;
  });

  it('whose caller is refused is not read', async () => {
    let read = 0;
    const body = new ReadableStream(
      {
        pull: (controller) => {
          read += 1;
          controller.enqueue(new Uint8Array(1_000));
        },
      },
      { highWaterMark: 0 },
    );
    const request = new Request('http://x.test/api/chat', { method: 'POST', body, duplex: 'half' } as RequestInit);
    const context = () => {
      throw new Response('who are you?', { status: 401 });
    };
    expect((await handlerOf([], { context })(request)).status).toBe(401);
    // Each of the two copies may ask for a first piece.
    expect(read).toBeLessThanOrEqual(2);
  });

  it('of another kind is refused by its method, or found nowhere', async () => {
    const handler = handlerOf([]);
    const refused = await handler(ask('/c1', 'PUT'));
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
    for (const path of ['/c1/streams', '/stream/c1']) expect((await handler(ask(path))).status).toBe(404);
    for (const path of ['/c1/stream', '/c1/stream//']) expect((await handler(ask(path))).status).toBe(204);
    for (const path of ['/c1', '/c1//']) expect((await handler(ask(path, 'DELETE'))).status).toBe(204);
  });
});

describe('the session of a chat', () => {
  it.each([undefined, sqliteJournal(':memory:')])(
    'gets a decision, and the page what comes after it',
    async (journal) => {
      const handler = handlerOf([...waiting, report()], { ...(journal !== undefined && { journal }) });
      const asked = await chunksOf(await handler(post()));
      const { messageId } = startOf(asked);
      expect(messageId).toMatch(/^c1:/);
      const { seq, status } = endOf(asked).messageMetadata;
      expect(status).toBe('waiting');
      const wrong = await handler(post('c2', [said, decision(messageId, seq, true, callIdOf(asked))]));
      expect([wrong.status, await wrong.json()]).toEqual([404, { error: `The chat c2 has no session ${messageId}.` }]);
      const after = await chunksOf(await handler(post('c1', [said, decision(messageId, seq, false, callIdOf(asked))])));
      expect(after.map(({ type }) => type)).toContain('tool-output-denied');
      expect(after.map(({ type }) => type)).not.toContain('tool-approval-request');
      expect(endOf(after).messageMetadata.status).toBe('succeeded');
      expect((await handler(ask('/c1/stream'))).status).toBe(204);
      await journal?.close();
    },
  );

  it('is joined while it runs, and aborted by the next one or by the page', async () => {
    const handler = handlerOf(waiting);
    const asked = await chunksOf(await handler(post()));
    expect(startOf(await chunksOf(await handler(ask('/c1/stream')))).messageId).toBe(startOf(asked).messageId);
    const next = await chunksOf(await handler(post()));
    expect(startOf(next).messageId).not.toBe(startOf(asked).messageId);
    const late = await handler(post('c1', [said, decision(startOf(asked).messageId, 1, true, callIdOf(asked))]));
    expect(late.status).toBe(404);
    expect((await handler(ask('/c1', 'DELETE'))).status).toBe(204);
    expect((await handler(ask('/c1/stream'))).status).toBe(204);
  });

  it('has the options of the handler, also after another process has suspended it', async () => {
    const journal = sqliteJournal(':memory:');
    const heard: [string, unknown, unknown][] = [];
    const spans: string[] = [];
    const options: ChatOptions = {
      journal,
      onEvent: (event: SessionEvent, { metadata, context }) => void heard.push([event.type, metadata, context]),
      telemetry: {
        session: () => ({ event: ({ type }) => void spans.push(type), around: (_, work) => work() }),
      },
      metadata: () => ({ tenant: 't' }),
      context: async (request) => request.headers.get('x-user'),
    };
    const script: RehearsalScript = ({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : (waiting[0] as object);
    const agent = agentOf(script, { tools: { guarded } });
    const first = startSession(agent, {
      prompt: 'Hi.',
      journal,
      sessionId: 'c1:1',
      logger: false,
      metadata: { tenant: 't' },
    });
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    const handler = chatHandler(agent, { logger: false, ...options } as never);
    const request = ask('/c1/stream');
    request.headers.set('x-user', 'ada');
    const asked = await chunksOf(await handler(request));
    expect(startOf(asked).messageId).toBe('c1:1');
    expect(
      heard.every(([, metadata, context]) => context === 'ada' && JSON.stringify(metadata) === '{"tenant":"t"}'),
    ).toBe(true);
    expect([heard.map(([type]) => type), spans]).toEqual([
      expect.arrayContaining(['session.resumed']),
      expect.arrayContaining(['session.resumed']),
    ]);
    const { seq } = endOf(asked).messageMetadata;
    await chunksOf(await handler(post('c1', [said, decision('c1:1', seq, false, callIdOf(asked))])));
    expect(heard.at(-1)?.[0]).toBe('session.succeeded');
    await chunksOf(await handler(post()));
    expect((await journal.list({ idPrefix: 'c1:' })).map(({ metadata }) => metadata)).toEqual([
      { tenant: 't' },
      { tenant: 't' },
    ]);
    await journal.close();
  });

  it('that another process runs is followed, without secrets, and decided through the journal', async () => {
    const journal = sqliteJournal(':memory:');
    const secrets = ['a-very-secret-word'];
    const replies = [{ text: 'a-very-secret-word', ...waiting[0] }, report()];
    const other = startSession(agentOf(replies, { tools: { guarded } }), {
      ...{ prompt: 'Hi.', journal, sessionId: 'c1:1', logger: false },
    });
    for await (const event of other.events) if (event.type === 'tool.approvalRequested') break;
    const handler = handlerOf([], { journal }, { secrets });
    const response = await handler(ask('/c1/stream'));
    const text = await response.text();
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('a-very-secret-word');
    const parsed = text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)));
    const { seq } = endOf(parsed).messageMetadata;
    const after = await handler(post('c1', [said, decision('c1:1', seq, false, callIdOf(parsed))]));
    expect(endOf(await chunksOf(after)).messageMetadata.status).toBe('succeeded');
    expect((await other.result).status).toBe('succeeded');
    await journal.close();
  });

  it('is forgotten once a hundred others have ended, or when it is deleted', async () => {
    const handler = handlerOf(() => report());
    const first = startOf(await chunksOf(await handler(post('c0')))).messageId;
    const late = async () => (await handler(post('c0', [said, decision(first, 1, true, 'x')]))).status;
    for (let index = 1; index < 100; index += 1) await chunksOf(await handler(post(`c${index}`)));
    expect(await late()).toBe(200);
    await chunksOf(await handler(post('more')));
    expect(await late()).toBe(404);
    const { messageId } = startOf(await chunksOf(await handler(post('c1'))));
    const decided = async () => (await handler(post('c1', [said, decision(messageId, 1, true, 'x')]))).status;
    expect(await decided()).toBe(200);
    await handler(ask('/c1', 'DELETE'));
    expect(await decided()).toBe(404);
  });

  it('is read from the journal once it has ended, if there is one', async () => {
    const journal = sqliteJournal(':memory:');
    const handler = handlerOf(() => report(), { journal });
    const { messageId } = startOf(await chunksOf(await handler(post())));
    await handler(ask('/c1', 'DELETE'));
    const late = await handler(post('c1', [said, decision(messageId, 1, true, 'x')]));
    expect(endOf(await chunksOf(late)).messageMetadata.status).toBe('succeeded');
    await journal.close();
  });
});
