import { type ContextWindow, type Message, roomOf } from '../../machines/index.ts';
import type { Limits } from '../vocabulary/limits.ts';

/** Default tokens reserved for a reply. */
const defaultReserveTokens = 4_096;

/** Returns the context window, of which `maxOutputTokens`, but at most a quarter, is reserved for the reply. */
export function contextWindow({ contextWindow: windowTokens }: Limits, maxOutputTokens?: number): ContextWindow {
  if (windowTokens === null) return { windowTokens, reserveTokens: 0 };
  return {
    windowTokens,
    reserveTokens: Math.min(maxOutputTokens ?? defaultReserveTokens, Math.floor(windowTokens / 4)),
  };
}

/**
 * Returns the most bytes of a result in the conversation: `toolResultBytes`, or fewer, so that one result never takes
 * more than a quarter of the room in the context window.
 */
export function resultBytesIn(window: ContextWindow, { toolResultBytes }: Limits): number {
  // A quarter of the tokens, at four bytes each.
  return Math.max(256, Math.min(toolResultBytes, roomOf(window)));
}

/** Returns the text in place of a result that is left out (T-6). `readable`: the model can read it by its id. */
export function resultStub(callId: string, tokens: number, readable: boolean): string {
  const what = `[This result, of about ${tokens} tokens, was left out, because the conversation fills the context window.`;
  const how = readable
    ? `Read it in pages with read_result, id ${callId}.`
    : 'If you still need it, ask for less of it.';
  return `${what} ${how}]`;
}

/** Replaces the results of `omitted` calls with stubs. The answers stay, so that every call has one (C-1). */
export function withoutResults(
  message: Message,
  omitted: ReadonlySet<string>,
  stub: (callId: string) => string,
): Message {
  if (message.role !== 'tool' || !message.content.some((part) => omitted.has(part.toolCallId))) return message;
  return {
    ...message,
    content: message.content.map((part) =>
      omitted.has(part.toolCallId) ? { ...part, output: { type: 'text', value: stub(part.toolCallId) } } : part,
    ),
  };
}
