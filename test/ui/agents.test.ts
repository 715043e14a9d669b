import { createAgentUIStreamResponse, type ModelMessage, tool, type UIMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent, PawlError, type SessionEvent } from '../../src/index.ts';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import { SessionFailed, toAgent } from '../../src/ui/index.ts';
import { wireModel } from '../support/session.ts';
import { guarded, search } from '../support/tools.ts';
import { messageOf } from '../support/ui.ts';

const logger = false as const;

/** An agent whose model is a server, as the SDK's agent, with what its sessions said. */
async function served(script: ServerScript, definition: Partial<Parameters<typeof defineAgent>[0]> = {}) {
  const server = await startModelServer(script);
  const agent = defineAgent({
    name: 'helper',
    models: [wireModel('openai', server.url)],
    finish: 'text',
    ...definition,
  } as Parameters<typeof defineAgent>[0]) as Agent;
  const events: SessionEvent[] = [];
  const own = toAgent(agent, { logger, onEvent: (event) => void events.push(event) });
  const counts = () => {
    const of = (type: SessionEvent['type']) => events.filter((event) => event.type === type).length;
    return { sessions: of('session.started'), requests: of('attempt.started'), answered: of('tool.answered') };
  };
  return { agent: own, server, events, counts, [Symbol.asyncDispose]: () => server.close() };
}

const call = (name: string, input: unknown, text = '') => ({ text, calls: [{ name, input }] });
const usage = { input: 10, output: 5 };

describe('toAgent: an agent as the AI SDK’s', () => {
  it('generates: each reply that counts is a step, with calls, answers and usage', async () => {
    await using given = await served(
      [
        { ...call('search', { q: 'moss' }, 'I look.'), usage },
        { text: 'Moss is green.', usage },
      ],
      { tools: { search } },
    );
    const result = await given.agent.generate({ prompt: 'What is moss?' });
    expect(result.text).toBe('Moss is green.');
    expect(result.finishReason).toBe('stop');
    expect(result.steps.map(({ text, finishReason }) => [text, finishReason])).toEqual([
      ['I look.', 'tool-calls'],
      ['Moss is green.', 'stop'],
    ]);
    expect(result.steps[0]?.toolCalls).toMatchObject([{ toolName: 'search', input: { q: 'moss' } }]);
    expect(result.steps[0]?.toolResults).toMatchObject([{ toolName: 'search', output: 'found moss' }]);
    expect(result.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(result.providerMetadata?.pawl).toMatchObject({ status: 'succeeded', slugs: [] });
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
  });

  it('streams what counts only: the text of a failed attempt is not there, its tokens and slugs are', async () => {
    await using given = await served([
      { text: 'Moss is re', finishReason: 'length', usage },
      { text: 'Moss is green.', usage },
    ]);
    const result = await given.agent.stream({ prompt: 'What is moss?' });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    expect(text).toBe('Moss is green.');
    expect(await result.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect((await result.steps).map(({ providerMetadata }) => providerMetadata?.pawl?.slugs)).toEqual([
      ['response_truncated'],
    ]);
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 0 });
  });

  it('a report that came by a tool is the text of the last step', async () => {
    await using given = await served([call('final_report', { content: '# Moss' })], {
      finish: 'report',
      report: { format: 'markdown' },
    } as object);
    const result = await given.agent.generate({ prompt: 'Report.' });
    expect(result.text).toBe('# Moss');
    expect(result.steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))).toEqual([
      ['final_report'],
      [],
    ]);
  });

  it('a session that fails rejects, and is an error in a stream, with its slugs', async () => {
    await using given = await served([{ text: '' }], { limits: { maxTurns: 1, maxRetries: 2 } });
    const failed = await given.agent.generate({ prompt: 'Go.' }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(SessionFailed);
    expect((failed as SessionFailed).slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'empty_response']);
    const result = await given.agent.stream({ prompt: 'Go.' });
    const parts = [];
    for await (const part of result.stream) parts.push(part);
    expect(parts.find(({ type }) => type === 'error')).toMatchObject({ error: { name: 'SessionFailed' } });
    expect(parts.find(({ type }) => type === 'finish')).toMatchObject({ finishReason: 'error' });
    expect(given.counts()).toEqual({ sessions: 2, requests: 4, answered: 0 });
  });

  it('an aborted signal aborts the session, also while a tool runs', async () => {
    const aborting = new AbortController();
    const hold = tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => {
          abortSignal?.addEventListener('abort', () => reject(new Error('aborted')));
          aborting.abort();
        }),
    });
    await using given = await served([call('hold', {})], { tools: { hold } });
    await expect(given.agent.generate({ prompt: 'Go.', abortSignal: aborting.signal })).rejects.toThrow();
    await expect.poll(() => given.events.at(-1)?.type).toBe('session.aborted');
    expect(given.counts()).toEqual({ sessions: 1, requests: 1, answered: 1 });
  });

  it('options, calls and messages that cannot be are refused before anything runs', async () => {
    await using given = await served([{ text: 'Hi.' }], { contextSchema: z.object({ user: z.string() }) } as object);
    expect(() => toAgent({} as never)).toThrow(PawlError);
    expect(() =>
      toAgent(defineAgent({ name: 'x', models: [wireModel('openai', 'http://x.test')] }), { a: 1 } as never),
    ).toThrow('Unknown option `options.a`.');
    await expect(given.agent.generate({ prompt: 'Hi.' })).rejects.toThrow('`context (for the agent helper)');
    await expect(given.agent.generate({ prompt: 'Hi.', options: { users: 1 } } as never)).rejects.toThrow(
      'Unknown option `options.users`.',
    );
    const own = { prompt: 'Hi.', options: { context: { user: 'ada' } } };
    expect((await given.agent.generate(own as never)).text).toBe('Hi.');
    expect(given.counts()).toEqual({ sessions: 1, requests: 1, answered: 0 });
  });
});

describe('toAgent: calls that wait for somebody', () => {
  const script: ServerScript = ({ body: { messages } }) => {
    const answer = messages.findLast(({ role }) => role === 'tool');
    return answer === undefined ? call('guarded', { path: '/tmp/x' }) : { text: `So: ${String(answer.content)}` };
  };

  it.each([
    [true, 'So: deleted /tmp/x'],
    [false, /^So: .*Not today/],
  ])('an approval ends the result, and the next call decides it: %s', async (approved, said) => {
    await using given = await served(script, { tools: { guarded } });
    const prompt: ModelMessage = { role: 'user', content: 'Delete it.' };
    const asked = await given.agent.generate({ messages: [prompt] });
    const request = asked.content.find(({ type }) => type === 'tool-approval-request');
    if (request?.type !== 'tool-approval-request') throw new Error('nobody was asked');
    const decision: ModelMessage = {
      role: 'tool',
      content: [
        {
          type: 'tool-approval-response',
          approvalId: request.approvalId,
          approved,
          ...(!approved && { reason: 'Not today.' }),
        },
      ],
    };
    const messages = [prompt, ...asked.response.messages, decision];
    const result = await given.agent.generate({ messages });
    expect(result.text).toMatch(said);
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
    // Decided once: no session waits any more, and nothing runs again.
    await expect(given.agent.generate({ messages })).rejects.toMatchObject({ code: 'session_unknown' });
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
  });

  it('a decision on some of the calls that wait is refused, and decides nothing', async () => {
    const both: ServerScript = ({ body: { messages } }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'Both.' }
        : { calls: ['/a', '/b'].map((path) => ({ name: 'guarded', input: { path } })) };
    await using given = await served(both, { tools: { guarded } });
    const prompt: ModelMessage = { role: 'user', content: 'Delete them.' };
    const asked = await given.agent.generate({ messages: [prompt] });
    const ids = asked.content.flatMap((part) => (part.type === 'tool-approval-request' ? [part.approvalId] : []));
    const deciding = (some: readonly string[]): ModelMessage[] => [
      ...[prompt, ...asked.response.messages],
      {
        role: 'tool',
        content: some.map((approvalId) => ({ type: 'tool-approval-response' as const, approvalId, approved: true })),
      },
    ];
    await expect(given.agent.generate({ messages: deciding(ids.slice(1)) })).rejects.toMatchObject({
      code: 'invalid_messages',
    });
    expect((await given.agent.generate({ messages: deciding(ids) })).text).toBe('Both.');
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 2 });
  });

  it('a page with useChat approves, and the conversation goes on in a new session without Pawl’s own marks', async () => {
    await using given = await served(script, { tools: { guarded } });
    const ask = async (uiMessages: UIMessage[]) => {
      const response = await createAgentUIStreamResponse({ agent: given.agent, uiMessages });
      const chunks = (await response.text())
        .split('\n\n')
        .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
      const stream = ReadableStream.from(chunks) as ReadableStream;
      const known = uiMessages.at(-1);
      return (await messageOf(stream, known?.role === 'assistant' ? (structuredClone(known) as never) : undefined))
        .message as UIMessage;
    };
    const prompt: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Delete it.' }] };
    const asked = await ask([prompt]);
    const decided = {
      ...asked,
      parts: asked.parts.map((part) =>
        'approval' in part && part.approval !== undefined
          ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
          : part,
      ),
    } as UIMessage;
    const done = await ask([prompt, decided]);
    expect(done.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))).toEqual(['So: deleted /tmp/x']);
    const more: UIMessage = { id: 'v', role: 'user', parts: [{ type: 'text', text: 'And now?' }] };
    await ask([prompt, done, more]);
    expect(given.counts()).toEqual({ sessions: 2, requests: 3, answered: 1 });
    const { body } = given.server.requests[2] ?? { body: { messages: [] } };
    expect(JSON.stringify(body)).not.toContain('sessionId');
    expect(body.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('a call that a client answers ends the result without one, and the next call brings it', async () => {
    const locate = tool({ inputSchema: z.object({}) });
    const where: ServerScript = ({ body: { messages } }) => {
      const answer = messages.findLast(({ role }) => role === 'tool');
      return answer === undefined ? call('locate', {}) : { text: `In ${String(answer.content)}` };
    };
    await using given = await served(where, { tools: { locate } });
    const prompt: ModelMessage = { role: 'user', content: 'Where am I?' };
    const asked = await given.agent.generate({ messages: [prompt] });
    expect([asked.finishReason, asked.toolCalls.length, asked.toolResults.length]).toEqual(['tool-calls', 1, 0]);
    const [{ toolCallId } = { toolCallId: '' }] = asked.toolCalls;
    const output = { type: 'text' as const, value: 'Bonn' };
    const answer: ModelMessage = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName: 'locate', output }],
    };
    const result = await given.agent.generate({ messages: [prompt, ...asked.response.messages, answer] });
    expect(result.text).toBe('In Bonn');
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
  });

  it('what a sub-agent asks is denied, with the reason', async () => {
    const inner: ServerScript = ({ body: { messages, tools = [] } }) => {
      const answered = messages.some(({ role }) => role === 'tool');
      if (JSON.stringify(tools).includes('"guarded"'))
        return answered ? { text: `Sub: ${String(messages.at(-1)?.content)}` } : call('guarded', { path: '/tmp/x' });
      return answered
        ? { text: String(messages.findLast(({ role }) => role === 'tool')?.content) }
        : call('sub', { prompt: 'Do it.', reason: 'x' });
    };
    await using server = await startModelServer(inner);
    const models = [wireModel('openai', server.url)];
    const sub = defineAgent({ name: 'sub', models, tools: { guarded }, finish: 'text', description: 'Deletes.' });
    const agent = toAgent(defineAgent({ name: 'main', models, agents: { sub }, finish: 'text' }), { logger });
    expect((await agent.generate({ prompt: 'Go.' })).text).toContain('No one can be asked here');
  });
});
