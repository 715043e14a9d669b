import type { Message } from '../../machines/index.ts';

/** Tokens of a text, estimated at four bytes each: near enough for a guard, and the same each time (T-6). */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

export function estimateMessageTokens(message: Message): number {
  return estimateTokens(JSON.stringify(message.content));
}
