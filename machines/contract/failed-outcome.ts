import { estimateTokens } from './context.ts';
import { nothingSpent, type Spent } from './limits.ts';
import type { Slug } from './slugs.ts';
import { failure } from './tool-result.ts';

/** Returns what a call comes to that failed with a message, and with nothing else (C-3). */
export function failedOutcome<S extends Slug>(slug: S, message: string, spent: Spent = nothingSpent) {
  const output = { type: 'error-text', value: message } as const;
  return { slug, result: failure(message), output, tokens: estimateTokens(message), kept: null, spent };
}
