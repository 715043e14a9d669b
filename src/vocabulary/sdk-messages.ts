import type { ModelMessage, ToolResultPart } from 'ai';
import type { FilePart, Message, TextPart, ToolOutput } from '../../machines/index.ts';
import { shown } from '../input/errors.ts';
import { base64Of } from '../platform/bytes.ts';

/** Converts the conversation to the AI SDK's shapes, for tools that read it. */
export function toModelMessages(messages: readonly Message[]): ModelMessage[] {
  return messages.map((one): ModelMessage => {
    switch (one.role) {
      case 'user':
        return { ...one, content: one.content.map((part) => (part.type === 'file' ? sdkFile(part) : part)) };
      case 'assistant':
        return {
          role: 'assistant',
          content: one.content
            .filter((part) => part.type !== 'reasoning-file')
            .map((part) => {
              if (part.type === 'file') return sdkFile(part);
              return part.type === 'tool-result' ? { ...part, output: sdkOutput(part.output) } : part;
            }),
        };
      case 'tool':
        return { ...one, content: one.content.map((part) => ({ ...part, output: sdkOutput(part.output) })) };
      default:
        return one satisfies never;
    }
  });
}

function sdkFile({ data: content, ...rest }: FilePart) {
  return {
    ...rest,
    data: content.type === 'url' ? new URL(content.url) : content.type === 'data' ? content.data : content,
  };
}

function sdkOutput(output: ToolOutput) {
  if (output.type !== 'content') return output;
  return { ...output, value: output.value.map((part) => (part.type === 'file' ? sdkOutputFile(part) : part)) };
}

function sdkOutputFile({ data: content, ...rest }: FilePart) {
  return { ...rest, data: content.type === 'url' ? { type: 'url' as const, url: new URL(content.url) } : content };
}

/** A tool result in the SDK's shape. */
export type SdkOutput = ToolResultPart['output'];

export type SdkPiece = Extract<SdkOutput, { type: 'content' }>['value'][number];

/**
 * Converts one piece of a tool result to the conversation's format: text, or a file as data or a URL. A file keeps its
 * name, and a piece its options for providers.
 */
export function contentPiece(piece: SdkPiece): TextPart | FilePart {
  const part = plainPiece(piece);
  const { filename } = piece as { filename?: string };
  return {
    ...part,
    ...(part.type === 'file' && filename !== undefined && { filename }),
    ...(piece.providerOptions !== undefined && { providerOptions: JSON.parse(JSON.stringify(piece.providerOptions)) }),
  };
}

function plainPiece(piece: SdkPiece): TextPart | FilePart {
  switch (piece.type) {
    case 'text':
      return { type: 'text', text: piece.text };
    case 'file-data':
    case 'image-data':
      return { type: 'file', mediaType: piece.mediaType, data: { type: 'data', data: piece.data } };
    case 'file-url':
      return urlPiece(piece.mediaType ?? '*/*', piece.url);
    case 'image-url':
      return urlPiece('image/*', piece.url);
    case 'file': {
      const { data, mediaType } = piece;
      if (data.type === 'text') return { type: 'text', text: data.text };
      if (data.type === 'url') return urlPiece(mediaType, data.url.toString());
      if (data.type === 'data') return { type: 'file', mediaType, data: { type: 'data', data: base64Of(data.data) } };
      return { type: 'text', text: `[file that only its provider can read: ${shown(data)}]` };
    }
    default:
      return { type: 'text', text: `[unsupported content: ${piece.type}]` };
  }
}

/** Turns an invalid URL into text, because it would break every later prompt. */
function urlPiece(mediaType: string, url: string): TextPart | FilePart {
  if (!URL.canParse(url)) return { type: 'text', text: `[${mediaType} at an invalid URL: ${url}]` };
  return { type: 'file', mediaType, data: { type: 'url', url } };
}
