import type { Message } from '../../machines/index.ts';

/**
 * Returns the tool results to omit (T-6): the oldest ones, until `omitTokens` are freed. The machines set the amount,
 * which never shrinks, so that the prompt's prefix changes as rarely as possible.
 */
export function omittedCalls(
  answerTokens: ReadonlyMap<string, number>,
  omitTokens: number,
): { omitted: ReadonlySet<string>; freed: number } {
  const omitted = new Set<string>();
  let freed = 0;
  for (const [callId, tokens] of answerTokens) {
    if (freed >= omitTokens) break;
    omitted.add(callId);
    freed += tokens;
  }
  return { omitted, freed };
}

const omittedText = '[This result was left out, because the conversation fills the context window.]';

/** Replaces the results of `omitted` calls with a placeholder. The answers stay, so that every call has one (C-1). */
export function withoutResults(message: Message, omitted: ReadonlySet<string>): Message {
  if (message.role !== 'tool' || !message.content.some((part) => omitted.has(part.toolCallId))) return message;
  return {
    ...message,
    content: message.content.map((part) =>
      omitted.has(part.toolCallId) ? { ...part, output: { type: 'text', value: omittedText } } : part,
    ),
  };
}
