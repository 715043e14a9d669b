import type { Message, ToolOutput } from '../../machines/index.ts';

/** Tokens of a text, estimated at four bytes each: near enough for a guard, and the same each time (T-6). */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

export function estimateMessageTokens(message: Message): number {
  return estimateTokens(JSON.stringify(message.content));
}

/** Media are not text: a file counts as the few hundred tokens that providers make of an image. */
const fileTokens = 1_000;

export function estimateOutputTokens(output: ToolOutput): number {
  if (output.type === 'execution-denied') return estimateTokens(output.reason ?? '');
  if (output.type !== 'content') {
    return estimateTokens(typeof output.value === 'string' ? output.value : JSON.stringify(output.value));
  }
  return output.value.reduce((sum, part) => sum + (part.type === 'text' ? estimateTokens(part.text) : fileTokens), 0);
}
