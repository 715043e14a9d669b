import type { ToolResultPart } from 'ai';
import type { FilePart, TextPart } from '../../machines/index.ts';
import { shown } from '../errors.ts';

/** A result of a tool in the SDK's shapes. */
export type SdkOutput = ToolResultPart['output'];
export type SdkPiece = Extract<SdkOutput, { type: 'content' }>['value'][number];

/** A piece of a result as the conversation keeps it: text, or a file as data or a URL. */
export function contentPiece(piece: SdkPiece): TextPart | FilePart {
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
      if (data.type === 'data') return { type: 'file', mediaType, data: { type: 'data', data: base64(data.data) } };
      return { type: 'text', text: `[a file that only its provider can read: ${shown(data)}]` };
    }
    default:
      return { type: 'text', text: `[content of a kind that cannot be passed on: ${piece.type}]` };
  }
}

/** What is no URL would break every prompt from now on. */
function urlPiece(mediaType: string, url: string): TextPart | FilePart {
  if (!URL.canParse(url)) return { type: 'text', text: `[${mediaType} at ${url}, which is no URL]` };
  return { type: 'file', mediaType, data: { type: 'url', url } };
}

function base64(data: string | Uint8Array | ArrayBuffer | Buffer): string {
  return typeof data === 'string' ? data : Buffer.from(data as Uint8Array).toString('base64');
}
