import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { FilePart, Json, TextPart, ToolOutput } from '../../../../machines/index.ts';
import { messageOf } from '../../../input/errors.ts';
import { jsonIn } from '../../../platform/plain-json.ts';
import { withoutSecrets } from '../../../secrets/redact.ts';
import { ToolError } from '../../../vocabulary/tool-error.ts';

/** Maximum base64 bytes for all files in one result. */
const mostFileBytes = 8 * 1_024 * 1_024;

/** Media types that providers accept in a tool result; other files are mentioned but not passed on. */
const takenMedia = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'];

/** The result of an MCP tool, as a value for the record and as parts for the model. */
export class McpResult {
  private readonly parts: (TextPart | FilePart)[];
  private readonly structured: Json;
  /** The server's own text. */
  private readonly said: string;
  /** Whether that lacks the structured content. */
  private readonly isUnsaid: boolean;

  /** `secrets` are taken out of what the server says. */
  constructor({ content, structuredContent }: CallToolResult, secrets: readonly string[] = []) {
    let room = mostFileBytes;
    this.parts = content
      .map((block) => partOf(withoutSecrets(block, secrets)))
      .flatMap((part): (TextPart | FilePart)[] => {
        if (part.type === 'text') return part.text === '' ? [] : [part];
        room -= part.data.type === 'data' ? part.data.data.length : 0;
        return [
          room >= 0 ? part : { type: 'text', text: `[${part.mediaType}: omitted; the files are too large in total]` },
        ];
      });
    const given: Json =
      structuredContent === undefined ? null : withoutSecrets(JSON.parse(JSON.stringify(structuredContent)), secrets);
    this.structured = given;
    this.said = this.text;
    this.isUnsaid = given !== null && !this.parts.some((part) => part.type === 'text' && says(part.text, given));
    if (this.isUnsaid) this.parts.push({ type: 'text', text: JSON.stringify(given) });
  }

  get text(): string {
    return this.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  }

  output(): ToolOutput {
    if (this.parts.some((part) => part.type === 'file')) return { type: 'content', value: this.parts };
    return { type: 'text', value: this.text || 'The tool returned an empty result.' };
  }

  toJSON(): Json {
    if (this.structured !== null) return this.structured;
    const files = this.parts.flatMap((part) => (part.type === 'file' ? [`[${part.mediaType}]`] : []));
    return [this.text, ...files].filter((text) => text !== '').join('\n');
  }

  /** Returns the error for an `isError` result, with the result's text as its message (C-3). */
  asError(): ToolError {
    // What an error carries is told after its message.
    return new ToolError(
      this.said || 'The tool failed without an error message.',
      this.isUnsaid ? this.structured : null,
    );
  }
}

/**
 * Whether a text repeats structured content, which the model should get once (T-6): as its JSON, or, as many servers give
 * a text, as its only value.
 */
function says(text: string, given: Json): boolean {
  return (
    text === given || isDeepStrictEqual(Object.values(Object(given)), [text]) || isDeepStrictEqual(jsonIn(text), given)
  );
}

function partOf(block: CallToolResult['content'][number]): TextPart | FilePart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return filePart(block.data, block.mimeType);
    case 'resource_link': {
      const { uri, name, mimeType, description } = block;
      const about = [mimeType, description].filter((text) => text !== undefined).join(', ');
      return { type: 'text', text: `[resource ${name}: ${uri}${about === '' ? '' : ` (${about})`}]` };
    }
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { type: 'text', text: `[resource ${resource.uri}]\n${resource.text}` };
      const file = filePart(resource.blob, resource.mimeType ?? 'application/octet-stream');
      return file.type === 'text' ? { ...file, text: `[resource ${resource.uri}] ${file.text}` } : file;
    }
    default:
      return { type: 'text', text: `[content of unknown type: ${JSON.stringify(block satisfies never)}]` };
  }
}

function filePart(data: string, given: string): TextPart | FilePart {
  const mediaType = given === 'image/jpg' ? 'image/jpeg' : given;
  if (data === '' || !takenMedia.includes(mediaType)) {
    return {
      type: 'text',
      text: `[${mediaType || 'file of unknown type'}, ${data.length} bytes of base64: not passed on]`,
    };
  }
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

/** Reads a result. One that cannot be read, such as one nested too deeply, is no fault of the connection. */
export function readMcpResult(server: string, returned: CallToolResult, secrets: readonly string[]): McpResult {
  try {
    return new McpResult(returned, secrets);
  } catch (error) {
    throw new ToolError(`The result of the server ${server} cannot be read: ${messageOf(error)}`);
  }
}
