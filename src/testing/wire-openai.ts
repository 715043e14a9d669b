import type { ScriptedResponse } from './scripted-response.ts';

const finishReasons: Record<string, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
};

/** Returns the events of a streamed chat completion, ready to send. */
export function openaiStream(response: ScriptedResponse, model: string, index: number): string[] {
  const base = { id: `chatcmpl-${index}`, object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const chunk = (delta: object, finish: string | null = null) =>
    event({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] });
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
  events.push(event({ ...base, choices: [], usage: usage(response) }), 'data: [DONE]\n\n');
  return events;
}

/** Returns a chat completion for a request without streaming. */
export function openaiBody(response: ScriptedResponse, model: string, index: number): object {
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

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Returns the input of a call as sent over the wire; strings are sent verbatim. */
export function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {});
}

/** Splits a text into pieces, so that it really streams. */
export function streamedPieces(text: string | undefined, length = Math.ceil((text?.length ?? 0) / 2)): string[] {
  const found: string[] = [];
  for (let start = 0; start < (text?.length ?? 0); start += length) {
    found.push(text?.slice(start, start + length) ?? '');
  }
  return found;
}
