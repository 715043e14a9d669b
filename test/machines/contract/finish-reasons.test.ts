import { expect, it } from 'vitest';
import { finishSense } from '../../../machines/index.ts';

it.each<[string, string | null, string]>([
  ['stop', 'stop', 'complete'],
  ['tool-calls', null, 'complete'],
  ['length', 'max_tokens', 'truncated'],
  ['content-filter', 'refusal', 'filtered'],
  ['stop', 'pause_turn', 'paused'],
  ['other', 'eos_token', 'complete'],
  ['other', 'END_TURN', 'complete'],
  ['other', 'stop_sequence', 'complete'],
  ['other', 'tool_use', 'complete'],
  ['other', 'RECITATION', 'filtered'],
  ['other', 'content_filter: SPII', 'filtered'],
  ['other', 'model_context_window_exceeded', 'truncated'],
  ['error', 'MALFORMED_FUNCTION_CALL', 'malformed'],
  ['other', 'function_call_filter: MALFORMED_FUNCTION_CALL', 'malformed'],
  ['other', 'error', 'broken'],
  ['other', 'network_error', 'broken'],
  ['error', null, 'broken'],
  ['interrupted', null, 'broken'],
  ['other', '', 'broken'],
  ['other', null, 'broken'],
  ['other', 'toString', 'unknown'],
  ['brand-new', null, 'unknown'],
])('C-5: the finish reason %s (raw %s) is %s', (unified, raw, sense) => {
  expect(finishSense({ unified, raw })).toBe(sense);
});

it('C-5: a reply without a finish reason broke off', () => {
  expect(finishSense(null)).toBe('broken');
});
