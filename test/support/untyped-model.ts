import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

export type Part = object;

export type Push = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => unknown;

export const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };

export const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage };

export const call = (toolName: string, over: object = {}) => ({
  type: 'tool-call',
  toolCallId: 'a',
  toolName,
  input: '{}',
  ...over,
});

export const reported = (content: string) => call('final_report', { input: JSON.stringify({ content }) });

/** An in-process model that streams the given parts, even if they don't form a valid reply. */
export function modelOf(...replies: (Part[] | Push)[]): LanguageModelV4 {
  const model = rehearsalModel([]);
  let next = 0;
  model.doStream = async () => {
    const reply = replies[Math.min(next, replies.length - 1)] ?? [];
    next += 1;
    const parts = [...(typeof reply === 'function' ? [] : reply)];
    const pushNext: Push = (controller) => {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part as LanguageModelV4StreamPart);
    };
    const push = typeof reply === 'function' ? reply : pushNext;
    return { stream: new ReadableStream({ pull: (controller) => void push(controller) }) };
  };
  return model;
}

export const agentOf = (model: LanguageModelV4, over: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'tested', models: [model], ...over });

export const echo = () => 'echoed';
