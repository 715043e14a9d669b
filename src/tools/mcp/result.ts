import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { FilePart, Json, JsonObject, TextPart, ToolOutput } from '../../../machines/index.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';

/** Maximum base64 bytes for all files in one result. */
const mostFileBytes = 8 * 1_024 * 1_024;

/** Media types that providers accept in a tool result; other files are mentioned but not passed on. */
const takenMedia = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'];

/** Maximum number of structured values that are looked for in the text, and of its characters for all of them together. */
const mostCompared = 100;
const mostRead = 250_000;

/** The result of an MCP tool, as a value for the record and as parts for the model. */
export class McpResult {
  private readonly parts: (TextPart | FilePart)[];
  private readonly structured: JsonObject | null;
  /** The server's own text. */
  private readonly said: string;
  /** Whether that lacks the structured content. */
  private readonly isUnsaid: boolean;

  constructor({ content, structuredContent }: CallToolResult) {
    let room = mostFileBytes;
    this.parts = content.map(partOf).flatMap((part): (TextPart | FilePart)[] => {
      if (part.type === 'text') return part.text === '' ? [] : [part];
      room -= part.data.type === 'data' ? part.data.data.length : 0;
      return [
        room >= 0 ? part : { type: 'text', text: `[${part.mediaType}: omitted; the files are too large in total]` },
      ];
    });
    const given: JsonObject | null =
      structuredContent === undefined ? null : JSON.parse(JSON.stringify(structuredContent));
    this.structured = given;
    // Servers should repeat structured content as text, but not all do. The model must get it exactly once (T-6).
    this.said = this.text;
    this.isUnsaid = given !== null && !this.says(given);
    if (this.isUnsaid) this.parts.push({ type: 'text', text: JSON.stringify(given) });
  }

  get text(): string {
    return this.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  }

  /**
   * Whether the text repeats it: as the same JSON, or with every value and its name. Texts need no name if all have the same,
   * since none can be taken for another.
   */
  private says(given: JsonObject): boolean {
    const texts = this.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    if (texts.some((text) => isSameJson(text, given))) return true;
    const leaves = leavesOf(given, '', []);
    const { text } = this;
    if (leaves.length === 0 || leaves.length > mostCompared || leaves.length * text.length > mostRead) return false;
    const lowerText = text.toLowerCase();
    const told = leaves.filter(({ value }) => value !== '');
    const isUnmistakable = new Set(told.map(({ name }) => name)).size === 1;
    return told.every(
      ({ name, value }) =>
        hasWords(text, String(value)) && (names(lowerText, name) || (isUnmistakable && typeof value === 'string')),
    );
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

/** A scalar value and the name of its field. */
type Leaf = { name: string; value: Json };

/** Returns the values in `json`, at least the first `mostCompared`. Items of a list have the name of the list. */
function leavesOf(json: Json, name: string, found: Leaf[]): Leaf[] {
  if (found.length > mostCompared) return found;
  if (typeof json !== 'object' || json === null) found.push({ name, value: json });
  else if (Array.isArray(json)) for (const item of json) leavesOf(item, name, found);
  else for (const [key, item] of Object.entries(json)) leavesOf(item, key, found);
  return found;
}

/** Whether a text holds another as whole words: 3 is not in 30, nor in 2.3. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + words.length, at + words.length + 2)];
    if (!/[\p{L}\p{N}_]$|\d[.,]$/u.test(before) && !/^[\p{L}\p{N}_]|^[.,]\d/u.test(after)) return true;
  }
  return false;
}

/** Whether a text, in lower case, holds the words of a field's name, such as `retryCount`. */
function names(lowerText: string, name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^\p{L}\p{N}]+/u);
  return words.every((word) => lowerText.includes(word.toLowerCase()));
}

function isSameJson(text: string, given: JsonObject): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), given);
  } catch {
    return false;
  }
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
