import type { ScriptedResponse } from '../scripted-response.ts';
import { inputText, namedEvent, streamedPieces, type WireFormat } from './wire.ts';

const stopReasons: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
};

function streamOf(response: ScriptedResponse, model: string, index: number): string[] {
  const { text, reasoning, calls = [], pieceLength } = response;
  const start = {
    ...message(model, index),
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
  const events = [
    namedEvent({ type: 'message_start', message: { ...start, usage: { ...usage(response), output_tokens: 0 } } }),
  ];
  let block = 0;
  const add = (content: object, deltas: object[]) => {
    events.push(namedEvent({ type: 'content_block_start', index: block, content_block: content }));
    for (const delta of deltas) events.push(namedEvent({ type: 'content_block_delta', index: block, delta }));
    events.push(namedEvent({ type: 'content_block_stop', index: block }));
    block += 1;
  };
  if (reasoning !== undefined) {
    const deltas = streamedPieces(reasoning, pieceLength).map((thinking): object => ({
      type: 'thinking_delta',
      thinking,
    }));
    add({ type: 'thinking', thinking: '', signature: '' }, [
      ...deltas,
      { type: 'signature_delta', signature: `signature-${index}` },
    ]);
  }
  if (text !== undefined) {
    add(
      { type: 'text', text: '' },
      streamedPieces(text, pieceLength).map((piece) => ({ type: 'text_delta', text: piece })),
    );
  }
  for (const [position, { name, input, id }] of calls.entries()) {
    const deltas = streamedPieces(inputText(input), pieceLength).map((piece) => ({
      type: 'input_json_delta',
      partial_json: piece,
    }));
    add({ type: 'tool_use', id: id ?? `toolu_${index}_${position}`, name, input: {} }, deltas);
  }
  const delta = { stop_reason: stopReason(response), stop_sequence: null };
  events.push(namedEvent({ type: 'message_delta', delta, usage: { output_tokens: usage(response).output_tokens } }));
  events.push(namedEvent({ type: 'message_stop' }));
  return events;
}

function bodyOf(response: ScriptedResponse, model: string, index: number): object {
  const { text, reasoning, calls = [] } = response;
  const content = [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: `signature-${index}` }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ name, input = {}, id }, position) => ({
      type: 'tool_use',
      id: id ?? `toolu_${index}_${position}`,
      name,
      input,
    })),
  ];
  return {
    ...message(model, index),
    content,
    stop_reason: stopReason(response),
    stop_sequence: null,
    usage: usage(response),
  };
}

function message(model: string, index: number): object {
  return { id: `msg_${index}`, type: 'message', role: 'assistant', model };
}

function stopReason({ finishReason, calls = [] }: ScriptedResponse): string {
  if (finishReason !== undefined) return stopReasons[finishReason] ?? finishReason;
  return calls.length > 0 ? 'tool_use' : 'end_turn';
}

function usage({ usage: { input = 10, output = 5, cacheRead = 0, cacheWrite = 0 } = {} }: ScriptedResponse) {
  return {
    input_tokens: input - cacheRead - cacheWrite,
    output_tokens: output,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
}

/** Anthropic's messages. */
export const anthropicMessages: WireFormat = {
  stream: streamOf,
  body: bodyOf,
  error: ({ type, message }) => ({ type: 'error', error: { type, message } }),
  errorEvent: ({ type, code, message }) => namedEvent({ type: 'error', error: { type, message, code } }),
};
