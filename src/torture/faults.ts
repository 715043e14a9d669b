import type { Wire } from '../testing/model-server.ts';
import type { ScriptedResponse } from '../testing/scripted-response.ts';
import { inputText } from '../testing/wires/wire.ts';
import { reportCall } from './scripted-model.ts';

/** What was asked for. `mustCall`: a reply without a call cannot come. `report`: the fields of the tool `final_report`, if it is offered. */
export type AskedReply = { wire: Wire; streams: boolean; mustCall: boolean; report: readonly string[] | null };

/** What goes wrong with a reply. Null if it cannot happen to this one. `chance`: from 0 to 1, for what is arbitrary. */
type Fault = (reply: ScriptedResponse, chance: number, asked: AskedReply) => ScriptedResponse | null;

const claim = 'Done. Everything was carried out as you asked.';

/** A reply without a call, which a provider that was told to call a tool does not send. */
const uncalled =
  (reply: ScriptedResponse): Fault =>
  (_, __, { mustCall }) =>
    mustCall ? null : reply;

const streamed =
  (change: (reply: ScriptedResponse) => ScriptedResponse): Fault =>
  (reply, _, { streams }) =>
    streams ? change(reply) : null;

/** Changes the input of the first call; null if there is no call. */
const ofInput =
  (change: (input: Record<string, unknown>) => unknown): Fault =>
  ({ calls: [first, ...others] = [], ...reply }) =>
    first === undefined
      ? null
      : { ...reply, calls: [{ ...first, input: change(first.input as Record<string, unknown>) }, ...others] };

/** An input as a text, which Anthropic sends only in a stream: a whole message has objects. */
const asText =
  (fault: Fault): Fault =>
  (reply, chance, asked) =>
    asked.wire === 'anthropic' && !asked.streams ? null : fault(reply, chance, asked);

const soon = { 'retry-after-ms': '20', 'retry-after': '0' };
const withoutFirst = (input: Record<string, unknown>) => Object.fromEntries(Object.entries(input).slice(1));

/** Replies that were seen from real models and providers, each by a name. */
export const replyFaults: Record<string, Fault> = {
  empty: () => ({}),
  reasoning_only: () => ({ reasoning: 'The next step is clear.' }),
  announced: uncalled({ text: 'I will do that now.' }),
  claimed: uncalled({ text: claim }),
  claimed_by_report: (_, __, { report, mustCall }) => {
    if (report !== null) return { calls: [reportCall(report, 'success', claim)] };
    return mustCall ? null : { text: claim };
  },
  unknown_tool: () => ({ calls: [{ name: 'do_the_task', input: {} }] }),
  cut_input: asText(ofInput((input) => inputText(input).slice(0, -2))),
  input_twice_encoded: asText(ofInput((input) => JSON.stringify(JSON.stringify(input)))),
  missing_field: ofInput(withoutFirst),
  wrong_type: ofInput((input) => Object.fromEntries(Object.keys(input).map((name) => [name, [name]]))),
  one_call_unknown: ({ calls = [], ...reply }) =>
    calls.length < 2
      ? null
      : { ...reply, calls: calls.map((call, at) => (at === 1 ? { ...call, name: 'other' } : call)) },
  one_id_for_all: ({ calls = [], ...reply }) =>
    calls.length < 2 ? null : { ...reply, calls: calls.map((call) => ({ ...call, id: 'call_same' })) },
  call_as_text: ({ calls: [first] = [] }, _, { mustCall }) =>
    first === undefined || mustCall
      ? null
      : { text: `<tool_call>${JSON.stringify({ name: first.name, arguments: first.input })}</tool_call>` },
  input_over_the_length: asText(({ calls: [first] = [] }) =>
    first === undefined
      ? null
      : { calls: [{ ...first, input: inputText(first.input).slice(0, -5) }], finishReason: 'length' },
  ),
  text_over_the_length: uncalled({ text: 'First I look at what there', finishReason: 'length' }),
  filtered: () => ({ text: 'I can', finishReason: 'content-filter' }),
  // The other wires say nothing of calls at the end.
  calls_that_stop: (reply, _, { wire }) =>
    reply.calls === undefined || (wire !== 'openai' && wire !== 'anthropic')
      ? null
      : { ...reply, finishReason: 'stop' },
  finish_without_calls: uncalled({ finishReason: 'tool-calls' }),
  cut_stream: (reply, chance) => ({ ...reply, cut: { afterBytes: Math.floor(20 + 200 * chance), how: 'end' } }),
  reset_stream: (reply, chance) => ({ ...reply, cut: { afterBytes: Math.floor(20 + 200 * chance), how: 'reset' } }),
  error_in_stream: streamed((reply) => ({
    ...reply,
    errorEvent: { afterEvents: 2, type: 'server_error', message: 'Overloaded' },
  })),
  garbage_in_stream: streamed((reply) => ({ ...reply, garbage: { afterEvents: 1, text: 'data: {"half": \n\n' } })),
  rate_limited: () => ({ status: 429, headers: soon, error: { type: 'rate_limit_error', message: 'Slow down.' } }),
  server_error: () => ({ status: 500, headers: soon, error: { type: 'api_error', message: 'Internal error' } }),
  overloaded: (_, __, { wire }) => ({
    ...{ status: wire === 'anthropic' ? 529 : 503, headers: soon },
    error: { type: 'overloaded_error', message: 'Overloaded' },
  }),
  refused_connection: () => ({ reset: true }),
  empty_body: () => ({ body: '' }),
  page_of_a_proxy: () => ({ body: '<html><body>Bad gateway</body></html>', headers: { 'content-type': 'text/html' } }),
};

/** What goes wrong with a call before it has any effect. */
export const toolFaults = ['tool_busy', 'tool_reset', 'tool_slow'] as const;
export type ToolFault = (typeof toolFaults)[number];

export const faultNames: readonly string[] = [...Object.keys(replyFaults), ...toolFaults];

/** Whether a name is that of a fault of replies. */
export function isReplyFault(name: string): boolean {
  return Object.hasOwn(replyFaults, name);
}

/** Numbers from 0 to 1 (exclusive) that follow from `seed`. */
export function chances(seed: string): () => number {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns what goes wrong with a reply, and what then goes over the wire; null if nothing does. */
export function faultFor(
  reply: ScriptedResponse,
  at: { seed: string; rate: number; names: readonly string[]; asked: AskedReply },
): { name: string; response: ScriptedResponse } | null {
  const next = chances(at.seed);
  if (next() >= at.rate) return null;
  const [from, chance] = [next(), next()];
  const first = Math.floor(from * at.names.length);
  for (let step = 0; step < at.names.length; step += 1) {
    const name = at.names[(first + step) % at.names.length] ?? '';
    const response = replyFaults[name]?.(reply, chance, at.asked) ?? null;
    if (response !== null) return { name, response };
  }
  return null;
}
