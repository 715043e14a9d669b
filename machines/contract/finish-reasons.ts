import type { Reply } from './reply.ts';

/**
 * The meaning of a finish reason (C-5). `paused`: the provider continues once it gets its reply back. `oversized`: Pawl
 * itself cut the reply off.
 */
export type FinishSense = 'complete' | 'truncated' | 'filtered' | 'paused' | 'broken' | 'oversized';

/** The finish reason of a reply beyond `limits.replyBytes`. */
export const oversizedFinish = { unified: 'other', raw: 'reply_too_large' } as const;

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
  'content-filter': 'filtered',
  content_filter: 'filtered',
  safety: 'filtered',
  refusal: 'filtered',
  pause_turn: 'paused',
  error: 'broken',
  network_error: 'broken',
  interrupted: 'broken',
  cancelled: 'broken',
  failed: 'broken',
  [oversizedFinish.raw]: 'oversized',
};

/**
 * Returns a finish reason's meaning. An unlisted value is `unknown`, which counts as complete. A missing or empty
 * reason (some servers send '' with every part) is `broken`.
 */
export function finishSense(reason: Reply['finishReason']): FinishSense | 'unknown' {
  const raw = reason?.raw?.toLowerCase() ?? '';
  if (senseOf(raw) === 'paused') return 'paused';
  const unified = reason?.unified ?? 'other';
  const word = unified === 'other' ? raw : unified;
  return word === '' ? 'broken' : (senseOf(word) ?? 'unknown');
}

function senseOf(word: string): FinishSense | undefined {
  return Object.hasOwn(senses, word) ? senses[word] : undefined;
}
