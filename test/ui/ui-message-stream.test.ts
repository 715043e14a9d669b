import { safeValidateTypes } from '@ai-sdk/provider-utils';
import { tool, uiMessageChunkSchema } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, startSession } from '../../src/index.ts';
import { arbitraryFault, arbitraryReply } from '../../src/testing/fast-check.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { fromUIMessages, toUIMessageStream } from '../../src/ui/index.ts';
import { messageOf, outputsIn, outputsShown, partsOfResult, shownParts } from '../support/ui.ts';

const inputSchema = z.object({ q: z.string() });
const search = tool({ inputSchema, execute: ({ q }) => ({ found: q }) });
const send = tool({ inputSchema, needsApproval: true, execute: ({ q }) => `sent ${q}` });
const reportSchema = z.object({ shelf: z.string() });
const logger = false as const;

describe('S-6: a session as a UI message stream', () => {
  it('its parts are those of the result; a failed attempt leaves only its record', async () => {
    const model = rehearsalModel([
      { text: 'This goes to nobody.', reasoning: 'Wrong.' },
      { text: 'I look it up.', reasoning: 'First.', calls: [{ name: 'search', input: { q: 'Ulysses' } }] },
      {
        calls: [
          { name: 'search', input: { q: 1 } },
          { name: 'search', input: { q: 'again' } },
        ],
      },
      { calls: [{ name: 'final_report', input: { content: { shelf: 'J-12' } } }] },
    ]);
    const report = { format: 'json', schema: reportSchema } as const;
    const agent = defineAgent({ name: 'librarian', models: [model], tools: { search }, report });
    const session = startSession(agent, { prompt: 'Where is it?', logger });
    const { message, chunks, errors } = await messageOf(toUIMessageStream(session));
    const result = await session.result;
    expect(errors).toEqual([]);
    expect(result.counters).toMatchObject({ turns: 3, attempts: 4, requests: 4, failedAttempts: 1, notices: 1 });
    expect(shownParts(message)).toEqual(partsOfResult(result));
    expect(message).toMatchObject({
      id: session.sessionId,
      role: 'assistant',
      metadata: { sessionId: session.sessionId, agent: 'librarian', status: 'succeeded', slugs: [], requests: 4 },
    });
    expect(message.parts.filter(({ type }) => type.startsWith('data-'))).toMatchObject([
      {
        id: 'turn-1',
        data: {
          turn: 1,
          status: 'progressed',
          attempts: [
            { attempt: 1, status: 'failed', slugs: ['text_only'], notice: null },
            { attempt: 2, status: 'progressed', slugs: [], notice: expect.stringContaining('text_only') },
          ],
        },
      },
      { id: 'turn-2', data: { status: 'progressed' } },
      { id: 'turn-3', data: { status: 'finished' } },
      { id: 'report-3', data: { state: 'accepted', content: { shelf: 'J-12' }, source: 'tool_call' } },
    ]);
    const shown = chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
    expect(shown).toEqual(['This goes to nobody.', 'I look it up.']);
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
  });

  it('for sessions of any kind: the parts are those of the result, and every chunk is one of the SDK', async () => {
    const replies = fc.array(fc.oneof(arbitraryReply({ search: [{ q: 'x' }, {}] }), arbitraryFault()), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(replies, fc.constantFrom('report' as const, 'text' as const), async (script, finish) => {
        const clock = manualClock();
        const models = [rehearsalModel(script)];
        const limits = { maxTurns: 3, maxRetries: 2 };
        const agent = defineAgent({ name: 'any', models, tools: { search }, limits, finish });
        const session = startSession(agent, { prompt: 'Go.', logger, clock });
        const { message, chunks, errors } = await messageOf(toUIMessageStream(session));
        const result = await session.result;
        expect(shownParts(message)).toEqual(partsOfResult(result));
        expect(outputsIn(await fromUIMessages([message]))).toEqual(outputsShown(message, result.conversation));
        expect(errors).toHaveLength(result.status === 'failed' ? 1 : 0);
        expect(message.metadata).toMatchObject({ status: result.status, slugs: result.slugs });
        expect(message.metadata?.requests).toBe(result.counters.requests);
        for (const chunk of chunks) {
          const valid = await safeValidateTypes({ value: chunk, schema: uiMessageChunkSchema });
          expect([chunk, valid.success]).toEqual([chunk, true]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('what did not stream comes with the reply, in its order: sources, files and tools of the provider', async () => {
    const model = new MockLanguageModelV4({
      provider: 'served',
      modelId: 'm',
      doStream: async () => ({
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start', warnings: [] },
            { type: 'tool-call', toolCallId: 'ws_1', toolName: 'web', input: '{"query":"x"}', providerExecuted: true },
            { type: 'tool-result', toolCallId: 'ws_1', toolName: 'web', result: { hits: 2 } },
            { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com/a', title: 'A' },
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'It is ' },
            { type: 'text-delta', id: '1', delta: 'here.' },
            { type: 'text-end', id: '1', providerMetadata: { served: { itemId: 'msg_1' } } },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0=' } },
            {
              type: 'finish',
              finishReason: { unified: 'stop', raw: 'stop' },
              usage: {
                inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
                outputTokens: { total: 7, text: 7, reasoning: 0 },
              },
            },
          ],
        }),
      }),
    });
    const agent = defineAgent({
      name: 'seer',
      models: [model],
      finish: 'text',
      pricing: { 'served:m': { input: 1, output: 1 } },
    });
    const session = startSession(agent, { prompt: 'Where?', logger });
    const { message } = await messageOf(toUIMessageStream(session));
    const result = await session.result;
    expect(shownParts(message)).toEqual(partsOfResult(result));
    expect(message.parts.map(({ type }) => type)).toEqual([
      'data-turn',
      'step-start',
      'tool-web',
      'source-url',
      'text',
      'file',
      'data-report',
    ]);
    expect(message.parts[4]).toMatchObject({ providerMetadata: { served: { itemId: 'msg_1' } } });
    expect(message.metadata).toMatchObject({ usage: { input: 5, output: 7 }, costUsd: result.counters.costUsd });
  });

  it('S-6: a report that was rejected says so, and one that was taken back is gone', async () => {
    const rejected = { name: 'final_report', input: { content: { title: 'First', n: 'no number' } } };
    const cutOff = { calls: [{ name: 'final_report', input: '{"content":{"title":"Second"' }] };
    const agent = defineAgent({
      name: 'reporting',
      models: [rehearsalModel([{ calls: [{ name: 'search', input: { q: 'x' } }, rejected] }, cutOff])],
      tools: { search },
      report: { format: 'json', schema: z.object({ title: z.string(), n: z.number() }) },
      limits: { maxRetries: 1 },
    });
    const session = startSession(agent, { prompt: 'Go.', logger });
    const { message } = await messageOf(toUIMessageStream(session));
    expect((await session.result).status).toBe('failed');
    expect(message.parts.filter(({ type }) => type === 'data-report')).toEqual([
      { type: 'data-report', id: 'report-1', data: { state: 'rejected' } },
    ]);
  });

  it('C-1: it ends where only decisions are awaited, and continues from there with the same message', async () => {
    const model = rehearsalModel([
      {
        calls: [
          { name: 'send', input: { q: 'one' } },
          { name: 'search', input: { q: 'x' } },
          { name: 'send', input: { q: 'two' } },
        ],
      },
      { calls: [{ name: 'final_report', input: { content: 'done' } }] },
    ]);
    const agent = defineAgent({ name: 'sender', models: [model], tools: { search, send } });
    const session = startSession(agent, { prompt: 'Send.', logger });
    const first = await messageOf(toUIMessageStream(session));
    const { metadata } = first.message;
    expect(metadata).toMatchObject({ status: 'waiting', requests: 1 });
    expect(shownParts(first.message).map((part) => (part as string[])[4])).toEqual([
      'approval-requested',
      'output-available',
      'approval-requested',
    ]);
    const ids = first.message.parts.flatMap((part) => ('approval' in part ? [part.approval?.id] : []));
    expect(new Set(ids).size).toBe(2);
    session.approve('call-1-0', { approved: true });
    session.approve('call-1-2', { approved: false, reason: 'Not two.' });
    const second = await messageOf(toUIMessageStream(session, { from: metadata?.seq ?? 0 }), first.message);
    const result = await session.result;
    expect(second.message.id).toBe(first.message.id);
    expect(shownParts(second.message)).toEqual(partsOfResult(result));
    expect(second.chunks.filter(({ type }) => type === 'tool-input-start')).toHaveLength(1);
    // A page that is loaded again gets the whole message.
    const whole = await messageOf(toUIMessageStream(session));
    expect(shownParts(whole.message)).toEqual(shownParts(second.message));
    expect(result.counters).toMatchObject({
      turns: 2,
      requests: 2,
      toolCalls: { requested: 4, executed: 2, failed: 0 },
    });
  });

  it('B-7: a call of a sub-agent that needs approval has a part, which does not go back to the model', async () => {
    const child = defineAgent({
      name: 'child',
      models: [
        rehearsalModel([
          { calls: [{ name: 'send', input: { q: 'inner' } }] },
          { calls: [{ name: 'final_report', input: { content: 'sent' } }] },
        ]),
      ],
      tools: { send },
    });
    const model = rehearsalModel([
      { calls: [{ name: 'child', input: { prompt: 'Send it.', reason: 'It can.' } }] },
      { calls: [{ name: 'final_report', input: { content: 'done' } }] },
    ]);
    const agent = defineAgent({ name: 'parent', models: [model], agents: { child } });
    const session = startSession(agent, { prompt: 'Send.', logger });
    const first = await messageOf(toUIMessageStream(session));
    const inner = first.message.parts.find((part) => part.type === 'dynamic-tool');
    expect(inner).toMatchObject({ toolName: 'send', input: { q: 'inner' }, state: 'approval-requested' });
    const { metadata } = first.message;
    expect(session.approve('call-1-0', { approved: true })).toBe(true);
    const { message } = await messageOf(toUIMessageStream(session, { from: metadata?.seq ?? 0 }), first.message);
    expect(message.parts.find((part) => part.type === 'dynamic-tool')).toMatchObject({
      state: 'output-available',
      output: 'sent inner',
    });
    expect(shownParts(message)).toEqual(partsOfResult(await session.result));
    const names = (await fromUIMessages([message])).flatMap(({ content }) =>
      Array.isArray(content) ? content.flatMap((part) => ('toolName' in part ? [part.toolName] : [])) : [],
    );
    expect(new Set(names)).toEqual(new Set(['child', 'final_report']));
  });

  it('an aborted session says so; a session that failed has an error; a reader that leaves stops nothing', async () => {
    const agent = defineAgent({ name: 'broken', models: [rehearsalModel([{}])], limits: { maxRetries: 2 } });
    const failing = startSession(agent, { prompt: 'Go.', logger });
    const leaving = toUIMessageStream(failing).getReader();
    await leaving.read();
    await leaving.cancel();
    const failed = await messageOf(toUIMessageStream(failing));
    expect(failed.errors).toEqual([expect.stringContaining('The session failed: retries_exhausted, empty_response')]);
    expect(failed.message.metadata).toMatchObject({ status: 'failed', slugs: ['retries_exhausted', 'empty_response'] });
    const hanging = defineAgent({ name: 'hanging', models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(hanging, { prompt: 'Go.', logger });
    session.abort('enough');
    const { message, chunks } = await messageOf(toUIMessageStream(session));
    expect(message.metadata).toMatchObject({ status: 'aborted', slugs: ['aborted'] });
    expect(chunks.some(({ type }) => type === 'abort')).toBe(true);
  });

  it('a reader that leaves while nothing happens is let go of at once', async () => {
    const agent = defineAgent({ name: 'hanging', models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(agent, { prompt: 'Go.', logger });
    const reader = toUIMessageStream(session).getReader();
    await reader.read();
    await reader.cancel();
    session.abort();
    await session.result;
  });

  it('a position that is none is refused', () => {
    const session = startSession(defineAgent({ name: 'a', models: [rehearsalModel([{}])] }), { prompt: 'Go.', logger });
    expect(() => toUIMessageStream(session, { from: -1 })).toThrow(
      '`from` must be a position: an integer of at least 0',
    );
    session.abort();
  });
});
