import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { fromUIMessages, toUIMessageStream, toUIMessageStreamResponse } from '../../src/ui/index.ts';
import { messageOf } from '../support/ui.ts';

const inputSchema = z.object({ q: z.string() });
const send = tool({ inputSchema, needsApproval: true, execute: ({ q }) => `sent ${q}` });
const logger = false as const;

describe('a session on a page', () => {
  it('a denial goes back as the model knew it', async () => {
    const calls = [{ name: 'send', input: { q: 'one' } }];
    const model = rehearsalModel([{ calls }, { text: 'Well.' }]);
    const agent = defineAgent({ name: 'sender', models: [model], finish: 'text', tools: { send } });
    const session = startSession(agent, {
      prompt: 'Send.',
      logger,
      onEvent: (event) => {
        if (event.type !== 'tool.approvalRequested') return;
        session.approve(event.callId, { approved: false, reason: 'not today' });
      },
    });
    const { conversation } = await session.result;
    const { message } = await messageOf(toUIMessageStream(session));
    const history = await fromUIMessages([message]);
    const output = ({ content }: { content: unknown }) =>
      (content as { type: string; output: object }[]).find(({ type }) => type === 'tool-result')?.output;
    const known = conversation.filter(({ role }) => role === 'tool').map(output);
    expect(known).toHaveLength(1);
    expect(history.filter(({ role }) => role === 'tool').map(output)).toEqual(known);
  });

  it.each([
    [{ form: 1_000 }, 'Unknown option `options.form`. Options: from, decided, onError.'],
    [{ decided: {} }, '`options.decided` must be an array of calls; got {}.'],
    [null, '`options` must be an object; got null.'],
  ])('options that are wrong or unknown are refused: %j', (options, message) => {
    const session = startSession(defineAgent({ name: 'a', models: [rehearsalModel([])] }), { prompt: 'Go.', logger });
    expect(() => toUIMessageStream(session, options as never)).toThrow(message);
    for (const one of [{ status: 99 }, { headers: { 'no such name': 'x' } }])
      expect(() => toUIMessageStreamResponse(session, one as never)).toThrow('The response cannot be made: ');
    const sent = toUIMessageStreamResponse(session, { headers: new Map([['x-own', 'kept']]) as never });
    expect(sent.headers.get('x-own')).toBe('kept');
    session.abort();
  });
});
