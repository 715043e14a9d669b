import { tool, type UIMessageChunk } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, resumeSession, type Session, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { fromUIMessages, toUIMessageStream } from '../../src/ui/index.ts';
import { messageOf, outputsIn, outputsShown, partsOfResult, shownParts, streamOf } from '../support/ui.ts';

const inputSchema = z.object({ q: z.string() });
const search = tool({ inputSchema, execute: ({ q }) => ({ found: q }) });
const logger = false as const;

describe('S-6: what a page keeps', () => {
  it('the history of the page holds what the model read: cut, converted, of a batch, and what was steered', async () => {
    const big = tool({ inputSchema, execute: () => 'x'.repeat(5_000) });
    const secret = tool({
      inputSchema,
      execute: () => ({ shown: 'yes', hidden: 'no' }),
      toModelOutput: () => ({ type: 'text', value: 'short' }),
    });
    const model = rehearsalModel([
      { text: '' },
      {
        calls: [
          { name: 'big', input: { q: 'x' } },
          { name: 'secret', input: { q: 'x' } },
          { name: 'batch', input: { calls: [{ tool: 'search', input: { q: 'in' } }] } },
        ],
      },
      { calls: [{ name: 'final_report', input: { content: 'done' } }] },
    ]);
    const agent = defineAgent({
      name: 'reader',
      models: [model],
      tools: { big, secret, search },
      builtIns: { batch: true },
      limits: { toolResultBytes: 256 },
    });
    const session = startSession(agent, {
      prompt: 'Go.',
      logger,
      onEvent: ({ type }) => void (type === 'attempt.started' && session.steer('Be quick.')),
    });
    const { message } = await messageOf(toUIMessageStream(session));
    const result = await session.result;
    const history = await fromUIMessages([message]);
    expect(outputsIn(history)).toEqual(outputsShown(message, result.conversation));
    expect(JSON.stringify(history)).not.toContain('hidden');
    const part = message.parts.find(({ type }) => type === 'tool-secret');
    expect(part).toMatchObject({ output: { shown: 'yes', hidden: 'no' } });
    expect(message.parts.find(({ type }) => type === 'tool-batch')).toMatchObject({
      output: expect.stringContaining('search'),
    });
    const steered = history.filter(({ role }) => role === 'user').length;
    expect(steered).toBe(result.conversation.filter(({ role }) => role === 'user').length - 1);
    expect(steered).toBeGreaterThan(0);
  });

  it('a page that left in the middle continues without doubled parts', async () => {
    const hold = Promise.withResolvers<string>();
    const wait = tool({ inputSchema, execute: () => hold.promise });
    const model = rehearsalModel([
      { text: 'First.', calls: [{ name: 'wait', input: { q: 'x' } }] },
      { calls: [{ name: 'final_report', input: { content: 'done' } }] },
    ]);
    const session = startSession(defineAgent({ name: 'left', models: [model], tools: { wait } }), {
      prompt: 'Go.',
      logger,
    });
    for await (const { type } of session.events) if (type === 'tool.started') break;
    const all: UIMessageChunk[] = [];
    const reader = toUIMessageStream(session).getReader();
    for (let isRunning = false; !isRunning; ) {
      const { value } = await reader.read();
      if (value === undefined) break;
      all.push(value);
      isRunning = value.type === 'message-metadata' && all.some(({ type }) => type === 'tool-input-available');
    }
    await reader.cancel();
    hold.resolve('held');
    const result = await session.result;
    // At each point where it may have left.
    for (let kept = 1; kept <= all.length; kept += 1) {
      const first = await messageOf(streamOf(all.slice(0, kept)));
      const from = first.message.metadata?.seq ?? 0;
      const { message } = await messageOf(toUIMessageStream(session, { from }), first.message);
      expect([kept, shownParts(message)]).toEqual([kept, partsOfResult(result)]);
    }
  });
});

describe('S-6: a page equals the result', () => {
  const nothing = z.object({});

  it('what was steered during a reply stays, even if the reply is sent again as a whole', async () => {
    for (const checked of [{}, { checkReply: () => ({ allow: true }) as const }]) {
      const script = [{ text: 'Looking.', calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }];
      const agent = defineAgent({
        name: 'steered',
        models: [rehearsalModel(script)],
        tools: { look: tool({ inputSchema: nothing, execute: () => 'seen' }) },
        finish: 'text',
        ...checked,
      });
      const session: Session = startSession(agent, {
        prompt: 'Go.',
        logger,
        onEvent: ({ type }) => {
          if (type === 'attempt.started' && session.counters.attempts === 1) session.steer('In French, please.');
        },
      });
      const { message } = await messageOf(toUIMessageStream(session));
      const result = await session.result;
      expect(result.counters).toMatchObject({ turns: 2, attempts: 2, requests: 2, failedAttempts: 0 });
      expect(message.parts.filter(({ type }) => type === 'data-steering')).toMatchObject([
        { data: { text: 'In French, please.' } },
      ]);
      const history = await fromUIMessages([message]);
      const roles = (messages: readonly { role: string }[]) => messages.map(({ role }) => role).toSorted();
      expect(roles(history)).toEqual(roles(result.conversation.slice(1)));
    }
  });

  it('a resumed session is shown as running, without the slug of its suspension', async () => {
    const script = [{ calls: [{ name: 'send', input: {} }] }, { text: 'Sent.' }];
    const tools = { send: tool({ inputSchema: nothing, needsApproval: true, execute: () => 'sent' }) };
    const agent = defineAgent({ name: 'clerk', models: [rehearsalModel(script)], tools, finish: 'text' });
    const journal = sqliteJournal(':memory:');
    const first = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger });
    for await (const { type } of first.events) if (type === 'tool.approvalRequested') break;
    await first.suspend();
    const session = await resumeSession(agent, { journal, sessionId: 's', logger });
    for await (const event of session.events)
      if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
    const { message, chunks } = await messageOf(toUIMessageStream(session));
    expect(message.metadata).toMatchObject({ status: 'succeeded', slugs: [] });
    const told = chunks.flatMap((chunk) => ('messageMetadata' in chunk ? [chunk.messageMetadata] : []));
    expect(told.slice(1, -1)).not.toContainEqual(expect.objectContaining({ slugs: ['suspended'] }));
    await journal.close();
  });
});
