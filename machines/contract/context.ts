/** The context guard's rule (T-6): whether the next request fits the model's context window. */

export type ContextWindow = {
  /** Tokens that a request and its reply may take together; null when nobody said. */
  windowTokens: number | null;
  /** Tokens kept free for the reply. */
  reserveTokens: number;
};

/** What is known of the conversation, in tokens: all of it, and the tool results in it that may be left out. */
export type ContextSize = { totalTokens: number; omittableTokens: number };

export type ContextVerdict = { kind: 'fits' } | { kind: 'omit'; tokens: number } | { kind: 'final_turn_now' };

const roomAfterOmission = 0.75;

/**
 * `fits`; or `omit`: leave out so many tokens of the oldest tool results, which frees a quarter of the window so that
 * the next turns leave the cached prefix alone; or `final_turn_now`, when even that does not make room.
 */
export function guardContext(window: ContextWindow, size: ContextSize): ContextVerdict {
  if (window.windowTokens === null) return { kind: 'fits' };
  const limit = Math.max(1, window.windowTokens - window.reserveTokens);
  if (size.totalTokens <= limit) return { kind: 'fits' };
  if (size.totalTokens - size.omittableTokens > limit) return { kind: 'final_turn_now' };
  const wanted = Math.ceil(size.totalTokens - limit * roomAfterOmission);
  return { kind: 'omit', tokens: Math.min(wanted, size.omittableTokens) };
}
