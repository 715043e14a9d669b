import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createProviderExecutedToolFactory } from '@ai-sdk/provider-utils';
import { convertArrayToReadableStream } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, run } from '../support/session.ts';

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const finish = (unified: 'stop' | 'tool-calls') =>
  ({ type: 'finish', finishReason: { unified, raw: unified }, usage }) as LanguageModelV4StreamPart;
const provided = (toolName: string) =>
  ({ type: 'tool-call', toolCallId: 'p', toolName, input: '{}', providerExecuted: true }) as LanguageModelV4StreamPart;
const own = (toolCallId: string) =>
  ({ type: 'tool-call', toolCallId, toolName: 'look', input: '{}' }) as LanguageModelV4StreamPart;
const result = (toolName: string) =>
  ({ type: 'tool-result', toolCallId: 'p', toolName, result: { out: 1 } }) as LanguageModelV4StreamPart;
const text = (delta: string): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
];

/** A model that replies with these parts, one list a request, the last one again and again; and the calls it was sent. */
function replying(...replies: LanguageModelV4StreamPart[][]) {
  const sent: string[][] = [];
  const model: LanguageModelV4 = {
    ...rehearsalModel([]),
    doStream: async ({ prompt }) => {
      const parts = replies[sent.length] ?? replies.at(-1) ?? [];
      sent.push(
        prompt.flatMap(({ role, content }) =>
          role === 'assistant' ? content.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : [])) : [],
        ),
      );
      return { stream: convertArrayToReadableStream(parts) };
    },
  };
  return { model, sent };
}
const deferred = createProviderExecutedToolFactory({
  id: 'any.deferred',
  inputSchema: z.object({}),
  outputSchema: z.object({}),
  supportsDeferredResults: true,
});
const spent = (requests: number) => ({ input: 10 * requests, output: 5 * requests });

describe('T-2d C-6c: a call that its provider has not answered', () => {
  it('is sent with each reply that calls our tools, until its result comes', async () => {
    const { model, sent } = replying(
      [provided('program'), own('a'), finish('tool-calls')],
      [own('b'), finish('tool-calls')],
      [result('program'), ...text('Done.'), finish('stop')],
    );
    const agent = defineAgent({ name: 'open', models: [model], finish: 'text', tools: { look: () => 'x' } });
    const { result: ended } = await run({ agent });
    expect(sent).toEqual([[], ['p', 'a'], ['p', 'a', 'b']]);
    expect(ended.counters).toEqual(
      counters({
        ...{ turns: 3, attempts: 3, tokens: spent(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, answered: 3, executed: 3, succeeded: 3 },
      }),
    );
  });

  it('does not keep a finished answer from being the answer', async () => {
    const { model, sent } = replying([provided('search'), ...text('The whole answer.'), finish('stop')]);
    const agent = defineAgent({ name: 'whole', models: [model], finish: 'text', limits: { maxTurns: 5 } });
    const { result: ended } = await run({ agent });
    expect([ended.report.content, sent.length]).toEqual(['The whole answer.', 1]);
    expect(ended.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 1, tokens: spent(1), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, rejected: { interrupted: 1 } },
      }),
    );
  });

  it('is awaited if its tool was declared to answer later', async () => {
    const { model, sent } = replying(
      [provided('later'), ...text('I run it.'), finish('stop')],
      [result('later'), ...text('Done.'), finish('stop')],
    );
    const agent = defineAgent({
      name: 'later',
      models: [model],
      finish: 'text',
      tools: { later: deferred({}) as never },
    });
    const { result: ended } = await run({ agent });
    expect(sent).toEqual([[], ['p']]);
    expect(ended.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: spent(2), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, executed: 1, succeeded: 1 },
      }),
    );
  });
});
