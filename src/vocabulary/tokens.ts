import {
  type AssistantPart,
  estimateTokens,
  type FileData,
  type Message,
  type ToolOutput,
  type ToolResultPart,
} from '../../machines/index.ts';

/** Estimates for the context guard (T-6): deterministic, and close enough for its margin. */

/** Tokens that mark a message or a part. */
const markTokens = 4;

/** Tokens of an image, at the upper end of what providers count. */
const imageTokens = 1_600;

/** Tokens of a file that only its URL names. */
const linkedFileTokens = 4_000;

/** Bytes of a file that make up one token, by media type; the first match counts. */
const bytesPerToken: readonly (readonly [RegExp, number])[] = [
  [/^text\/|[/+](?:json|xml|yaml|csv)$/, 4],
  // 128 kbit/s, at 32 tokens a second.
  [/^audio\//, 500],
  // 2 Mbit/s, at 300 tokens a second.
  [/^video\//, 800],
  // Documents: 25 kB a page, at 2,000 tokens a page.
  [/./, 12],
];

export function estimateMessageTokens({ content }: Message): number {
  return content.reduce((sum, part) => sum + estimatePartTokens(part), markTokens);
}

function estimatePartTokens(part: AssistantPart | ToolResultPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return markTokens + estimateTokens(part.text);
    case 'file':
    case 'reasoning-file':
      return estimateFileTokens(part.mediaType, part.data);
    case 'tool-call':
      return markTokens + estimateTokens(part.toolCallId + part.toolName) + estimateJsonTokens(part.input);
    case 'tool-result':
      return markTokens + estimateTokens(part.toolCallId + part.toolName) + estimateOutputTokens(part.output);
    case 'custom':
      return markTokens;
    default:
      return part satisfies never;
  }
}

export function estimateOutputTokens(output: ToolOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return estimateTokens(output.value);
    case 'json':
    case 'error-json':
      return estimateJsonTokens(output.value);
    case 'execution-denied':
      return estimateTokens(output.reason ?? '');
    case 'content':
      return output.value.reduce((sum, part) => sum + estimatePartTokens(part), 0);
    default:
      return output satisfies never;
  }
}

export function estimateJsonTokens(value: unknown): number {
  return estimateTokens(JSON.stringify(value));
}

/** Estimates a file as media, never as the text of its encoding. */
function estimateFileTokens(mediaType: string, data: FileData): number {
  if (data.type === 'text') return markTokens + estimateTokens(data.text);
  if (/^image\//.test(mediaType)) return imageTokens;
  const base64 = data.type === 'data' ? data.data : (/^data:[^,]*;base64,(.*)$/s.exec(data.url)?.[1] ?? null);
  if (base64 === null) return linkedFileTokens;
  const [, bytes = 4] = bytesPerToken.find(([media]) => media.test(mediaType)) ?? [];
  return markTokens + Math.ceil((base64.length * 3) / 4 / bytes);
}
