import type { ScriptedResponse } from '../scripted-response.ts';
import { dataEvent, inputText, streamedPieces, type WireFormat } from './wire.ts';

const finishReasons: Record<string, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
};

function streamOf(response: ScriptedResponse, model: string, index: number): string[] {
  const base = { id: `chatcmpl-${index}`, object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const chunk = (delta: object, finish: string | null = null) =>
    dataEvent({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] });
  const { text, reasoning, calls = [], pieceLength } = response;
  const events = [chunk({ role: 'assistant', content: '' })];
  if (reasoning !== undefined) events.push(chunk({ reasoning_content: reasoning }));
  for (const piece of streamedPieces(text, pieceLength)) events.push(chunk({ content: piece }));
  for (const [position, { name, input, id }] of calls.entries()) {
    const start = { index: position, id: id ?? `call_${index}_${position}`, type: 'function' };
    events.push(chunk({ tool_calls: [{ ...start, function: { name, arguments: '' } }] }));
    for (const piece of streamedPieces(inputText(input), pieceLength)) {
      events.push(chunk({ tool_calls: [{ index: position, function: { arguments: piece } }] }));
    }
  }
  events.push(chunk({}, finishReason(response)));
  events.push(dataEvent({ ...base, choices: [], usage: usage(response) }), 'data: [DONE]\n\n');
  return events;
}

function bodyOf(response: ScriptedResponse, model: string, index: number): object {
  const { text = null, reasoning, calls = [] } = response;
  const toolCalls = calls.map(({ name, input, id }, position) => ({
    id: id ?? `call_${index}_${position}`,
    type: 'function',
    function: { name, arguments: inputText(input) },
  }));
  const message = {
    role: 'assistant',
    content: text,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  return {
    id: `chatcmpl-${index}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: finishReason(response) }],
    usage: usage(response),
  };
}

function finishReason({ finishReason: reason, calls = [] }: ScriptedResponse): string {
  if (reason !== undefined) return finishReasons[reason] ?? reason;
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

function usage({ usage: { input = 10, output = 5, reasoning = 0, cacheRead = 0 } = {} }: ScriptedResponse): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** OpenAI's chat completions, and what speaks them. */
export const chatCompletions: WireFormat = {
  stream: streamOf,
  body: bodyOf,
  error: ({ type, code, message }) => ({ error: { message, type, code, param: null } }),
  errorEvent: ({ type, code, message }) => dataEvent({ error: { type, message, code } }),
};
