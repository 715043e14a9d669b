import type { ScriptedResponse } from '../scripted-response.ts';
import { inputText, namedEvent, streamedPieces, type WireFormat } from './wire.ts';

const reasonsOfAnEarlyEnd: Record<string, string | undefined> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
};

type Item = { id: string; type: string; [key: string]: unknown };

/** Returns the items of a reply, as a request may name them later. */
export function responseItems({ text, reasoning, calls = [], finishReason }: ScriptedResponse, index: number): Item[] {
  const status = finishReason === 'length' ? 'incomplete' : 'completed';
  const message = { id: `msg_${index}`, type: 'message', role: 'assistant', status };
  return [
    ...(reasoning === undefined
      ? []
      : [{ id: `rs_${index}`, type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }]),
    ...(text === undefined ? [] : [{ ...message, content: [textPart(text)] }]),
    ...calls.map(({ name, input, id }, at) => ({
      ...{ id: `fc_${index}_${at}`, type: 'function_call', status },
      ...{ call_id: id ?? `call_${index}_${at}`, name, arguments: inputText(input) },
    })),
  ];
}

/** What a response is called, so that the next request can go on from it. */
export const responseId = (index: number): string => `resp_${index}`;

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

function streamOf(response: ScriptedResponse, model: string, index: number): string[] {
  const events: string[] = [];
  const add = (type: string, more: object) => {
    events.push(namedEvent({ type, sequence_number: events.length, ...more }));
  };
  const begun = { ...head(model, index), status: 'in_progress', output: [], usage: null, incomplete_details: null };
  add('response.created', { response: begun });
  add('response.in_progress', { response: begun });
  for (const [at, item] of responseItems(response, index).entries()) {
    const place = { item_id: item.id, output_index: at };
    add('response.output_item.added', { output_index: at, item: { ...item, ...begunItem(item) } });
    itemEvents(response, item, (type, more) => add(type, { ...place, ...more }));
    add('response.output_item.done', { output_index: at, item });
  }
  const ended = bodyOf(response, model, index);
  add(`response.${ended.status}`, { response: ended });
  return events;
}

/** What an item has while it is on its way. */
function begunItem({ type }: Item): object {
  if (type === 'function_call') return { status: 'in_progress', arguments: '' };
  return type === 'reasoning' ? { summary: [] } : { status: 'in_progress', content: [] };
}

function itemEvents(response: ScriptedResponse, item: Item, add: (type: string, more: object) => void): void {
  const { text = '', reasoning = '', pieceLength } = response;
  if (item.type === 'function_call') {
    for (const delta of streamedPieces(String(item.arguments), pieceLength))
      add('response.function_call_arguments.delta', { delta });
    add('response.function_call_arguments.done', { name: item.name, arguments: item.arguments });
  } else if (item.type === 'reasoning') {
    const place = { summary_index: 0 };
    add('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } });
    for (const delta of streamedPieces(reasoning, pieceLength))
      add('response.reasoning_summary_text.delta', { ...place, delta });
    add('response.reasoning_summary_text.done', { ...place, text: reasoning });
    add('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text: reasoning } });
  } else {
    const place = { content_index: 0 };
    add('response.content_part.added', { ...place, part: textPart('') });
    for (const delta of streamedPieces(text, pieceLength))
      add('response.output_text.delta', { ...place, delta, logprobs: [] });
    add('response.output_text.done', { ...place, text, logprobs: [] });
    add('response.content_part.done', { ...place, part: textPart(text) });
  }
}

function bodyOf(response: ScriptedResponse, model: string, index: number) {
  const why = reasonsOfAnEarlyEnd[response.finishReason ?? 'stop'];
  return {
    ...head(model, index),
    status: why === undefined ? 'completed' : 'incomplete',
    incomplete_details: why === undefined ? null : { reason: why },
    output: responseItems(response, index),
    usage: usage(response),
  };
}

function head(model: string, index: number): object {
  return {
    ...{ id: responseId(index), object: 'response', created_at: 1_700_000_000, model, error: null },
    ...{ instructions: null, metadata: {}, parallel_tool_calls: true, temperature: 1, top_p: 1 },
    ...{ tool_choice: 'auto', tools: [] },
  };
}

function usage({ usage: { input = 10, output = 5, reasoning = 0, cacheRead = 0 } = {} }: ScriptedResponse): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** OpenAI's Responses. */
export const openaiResponses: WireFormat = {
  stream: streamOf,
  body: bodyOf,
  error: ({ type, code, message }) => ({ error: { message, type, code, param: null } }),
  errorEvent: ({ code, message }) => namedEvent({ type: 'error', sequence_number: 0, code, message, param: null }),
};
