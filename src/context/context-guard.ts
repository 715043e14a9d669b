import { type ContextWindow, estimateTokens, type Message, roomOf, stubTokens } from '../../machines/index.ts';
import type { Limits } from '../vocabulary/limits.ts';

/** Default tokens reserved for a reply. */
const defaultReserveTokens = 4_096;

/** Returns the context window, of which `maxOutputTokens`, but at most a quarter, is reserved for the reply. */
export function contextWindow({ contextWindow: windowTokens }: Limits, maxOutputTokens?: number): ContextWindow {
  const reserveTokens = maxOutputTokens ?? defaultReserveTokens;
  if (windowTokens === null) return { windowTokens, reserveTokens };
  return { windowTokens, reserveTokens: Math.min(reserveTokens, Math.floor(windowTokens / 4)) };
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

/** Returns the text in place of old text that is left out (T-6). */
export function textStub(tokens: number): string {
  return `[Text of about ${tokens} tokens was left out, because the conversation fills the context window.]`;
}

/** Returns how many tokens leaving out the text of a message frees; 0 if a stub would be no shorter. */
export function freeableText({ role, content }: Message): number {
  if (role === 'tool') return 0;
  const tokens = content.reduce((sum, part) => sum + (part.type === 'text' ? estimateTokens(part.text) : 0), 0);
  return Math.max(0, tokens - stubTokens);
}

/**
 * Whether message `position` of a conversation is old text, which may be left out: one of an assistant, or of a user before
 * the prompt.
 */
export function isOldText({ role }: Message, position: number, { prompt }: { prompt: number }): boolean {
  return role === 'assistant' || (role === 'user' && position < prompt);
}

/** Replaces the text of a message with a stub. The other parts stay. */
export function withoutText(message: Message): Message {
  if (message.role === 'tool') return message;
  const first = message.content.findIndex(({ type }) => type === 'text');
  const stub = { type: 'text' as const, text: textStub(freeableText(message) + stubTokens) };
  const content = message.content.flatMap((part, index) =>
    part.type === 'text' ? (index === first ? stub : []) : part,
  );
  return { ...message, content } as Message;
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
