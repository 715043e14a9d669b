/** The context guard (T-6): decides whether the next request fits the model's context window. */

export type ContextWindow = {
  /** Size of the window, shared by a request and its reply; null if unknown. */
  windowTokens: number | null;
  /** Tokens reserved for the reply. */
  reserveTokens: number;
};

/** The conversation's size in tokens: the total, and the tool results that may be omitted. */
export type ContextSize = { totalTokens: number; omittableTokens: number };

export type ContextVerdict = { kind: 'fits' } | { kind: 'omit'; tokens: number } | { kind: 'final_turn_now' };

const roomAfterOmission = 0.75;

/**
 * Decides whether the next request fits. `omit` drops `tokens` tokens of the oldest tool results, which frees a
 * quarter of the window so that the next turns keep the cached prefix. `final_turn_now` means that even dropping them
 * all would not free enough room.
 */
export function guardContext(window: ContextWindow, size: ContextSize): ContextVerdict {
  if (window.windowTokens === null) return { kind: 'fits' };
  const limit = Math.max(1, window.windowTokens - window.reserveTokens);
  if (size.totalTokens <= limit) return { kind: 'fits' };
  if (size.totalTokens - size.omittableTokens > limit) return { kind: 'final_turn_now' };
  const wanted = Math.ceil(size.totalTokens - limit * roomAfterOmission);
  return { kind: 'omit', tokens: Math.min(wanted, size.omittableTokens) };
}
