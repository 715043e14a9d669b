import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { byteLength } from '../../platform/bytes.ts';
import { replyJson, stringOrEmpty } from './reply-values.ts';

/** Bytes counted for a part itself, since countless empty ones take memory too. */
export const bytesOfPart = 64;

/** Returns the bytes that a part adds to the reply. */
export function partBytes(part: LanguageModelV4StreamPart): number {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return (
        byteLength(stringOrEmpty(part.delta)) + (part.providerMetadata == null ? 0 : sizeOf(part.providerMetadata))
      );
    case 'file':
    case 'reasoning-file':
      return part.data?.type === 'data' ? (part.data.data?.length ?? 0) : bytesOfPart;
    case 'tool-call':
      return bytesOfPart + (typeof part.input === 'string' ? part.input.length : sizeOf(part.input));
    case 'ping':
    case 'raw':
    case 'finish':
      return 0;
    default:
      return bytesOfPart + sizeOf(part);
  }
}

function sizeOf(value: unknown): number {
  try {
    return (JSON.stringify(value) ?? 'null').length;
  } catch {
    // Untyped models may send values that `JSON.stringify` rejects.
    return JSON.stringify(replyJson(value)).length;
  }
}
