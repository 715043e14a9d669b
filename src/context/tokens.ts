import type { Message, ToolOutput } from '../../machines/index.ts';

/** Estimates the tokens of a text at four bytes each: close enough for a guard, and deterministic (T-6). */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

export function estimateMessageTokens(message: Message): number {
  return estimateTokens(JSON.stringify(message.content));
}

/** Estimated tokens of a file, in the range that providers count for an image. */
const fileTokens = 1_000;

export function estimateOutputTokens(output: ToolOutput): number {
  if (output.type === 'execution-denied') return estimateTokens(output.reason ?? '');
  if (output.type !== 'content') {
    return estimateTokens(typeof output.value === 'string' ? output.value : JSON.stringify(output.value));
  }
  return output.value.reduce((sum, part) => sum + (part.type === 'text' ? estimateTokens(part.text) : fileTokens), 0);
}
