/** Why a reply ended: the AI SDK's word, and the provider's own; null if its stream gave no reason. */
export type FinishReason = { unified: string; raw: string | null } | null;

/**
 * The meaning of a finish reason (C-5). `paused`: the provider continues once it gets its reply back. `malformed`: it
 * could not read a tool call of the model. `oversized`, `degenerate`: Pawl itself cut the reply off.
 */
export type FinishSense =
  | 'complete'
  | 'truncated'
  | 'filtered'
  | 'paused'
  | 'malformed'
  | 'broken'
  | 'oversized'
  | 'degenerate';

/** The finish reason of a reply beyond `limits.replyBytes`. */
export const oversizedFinish = { unified: 'other', raw: 'reply_too_large' } as const;

/** The finish reason of a reply that went on and on with one line or period (F-4). */
export const degenerateFinish = { unified: 'other', raw: 'reply_degenerate' } as const;

/** The one table of finish reasons: the AI SDK's values, and the raw values that it passes on as `other`. */
const senses: Readonly<Record<string, FinishSense>> = {
  stop: 'complete',
  'tool-calls': 'complete',
  eos: 'complete',
  eos_token: 'complete',
  end_turn: 'complete',
  stop_sequence: 'complete',
  tool_use: 'complete',
  tool_calls: 'complete',
  function_call: 'complete',
  complete: 'complete',
  completed: 'complete',
  length: 'truncated',
  max_tokens: 'truncated',
  max_output_tokens: 'truncated',
  model_context_window_exceeded: 'truncated',
  'content-filter': 'filtered',
  content_filter: 'filtered',
  content_filtered: 'filtered',
  guardrail_intervened: 'filtered',
  refusal: 'filtered',
  safety: 'filtered',
  recitation: 'filtered',
  blocklist: 'filtered',
  prohibited_content: 'filtered',
  spii: 'filtered',
  image_safety: 'filtered',
  image_recitation: 'filtered',
  image_prohibited_content: 'filtered',
  model_armor: 'filtered',
  pause_turn: 'paused',
  malformed_function_call: 'malformed',
  unexpected_tool_call: 'malformed',
  function_call_filter: 'malformed',
  malformed_tool_use: 'malformed',
  error: 'broken',
  network_error: 'broken',
  interrupted: 'broken',
  cancelled: 'broken',
  failed: 'broken',
  [oversizedFinish.raw]: 'oversized',
  [degenerateFinish.raw]: 'degenerate',
};

/**
 * Returns a finish reason's meaning. An unlisted value is `unknown`, which counts as complete. A missing or empty
 * reason (some servers send '' with every part) is `broken`. A raw value may have details after a colon.
 */
export function finishSense(reason: FinishReason): FinishSense | 'unknown' {
  const [raw = ''] = (reason?.raw?.toLowerCase() ?? '').split(':');
  const known = senseOf(raw);
  // The AI SDK has no value of its own for these: it calls the one `stop`, the other `error`.
  if (known === 'paused' || known === 'malformed') return known;
  const unified = reason?.unified ?? 'other';
  const word = unified === 'other' ? raw : unified;
  return word === '' ? 'broken' : (senseOf(word) ?? 'unknown');
}

function senseOf(word: string): FinishSense | undefined {
  return Object.hasOwn(senses, word) ? senses[word] : undefined;
}
