import { parsePartialJson } from 'ai';
import {
  type FilePart,
  historyName,
  type Json,
  type JsonObject,
  type ProviderData,
  type ReasoningFilePart,
  type Reply,
  type ReplyPart,
  type ReplySource,
} from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import { isRecord } from '../platform/plain-json.ts';
import type { UIChunk } from './ui-message.ts';

type Delta = Extract<SessionEvent, { type: 'model.delta' }>;
type Streamed = { id: string; kind: Delta['kind']; callId: string | null; toolName: string; text: string };

/** The parts of one attempt's reply on the page: as they stream, and as the whole reply then has them. */
export class StreamedReply {
  /** By id, in the order in which they began. */
  private readonly parts = new Map<string, Streamed>();
  /** Whether a reply is awaited or streaming. */
  private isOpen = false;
  private readonly isDynamic: (tool: string) => boolean;

  /** `isDynamic` says whether a page cannot know a tool when it is compiled, such as one of an MCP server. */
  constructor(isDynamic: (tool: string) => boolean) {
    this.isDynamic = isDynamic;
  }

  begin(): void {
    this.isOpen = true;
  }

  delta({ turn, attempt, part, kind, callId, toolName, delta }: Delta): UIChunk[] {
    const id = `${turn}.${attempt}.${part}`;
    const known = this.parts.get(id);
    const streamed = known ?? { id, kind, callId, toolName: toolName ?? '', text: '' };
    if (known === undefined) this.parts.set(id, streamed);
    streamed.text += delta;
    return [...(known === undefined ? this.start(streamed) : []), ...this.grown(streamed, delta)];
  }

  /** Brings a page that left in the middle of a reply to the same state as the others. */
  again(): UIChunk[] {
    if (!this.isOpen) return [];
    return [
      { type: 'reset-step' },
      ...[...this.parts.values()].flatMap((part) => [...this.start(part), ...this.grown(part, part.text)]),
    ];
  }

  private start({ id, kind, callId, toolName }: Streamed): UIChunk[] {
    if (kind !== 'tool-input') return [{ type: `${kind}-start`, id }];
    return callId === null ? [] : [this.callStart(callId, toolName)];
  }

  private grown({ id, kind, callId }: Streamed, delta: string): UIChunk[] {
    if (kind !== 'tool-input') return [{ type: `${kind}-delta`, id, delta }];
    return callId === null ? [] : [{ type: 'tool-input-delta', toolCallId: callId, inputTextDelta: delta }];
  }

  /** The reply is there. What was streamed stays if it is the whole reply; otherwise all parts are sent again. */
  async replied(reply: Reply | null): Promise<UIChunk[]> {
    this.isOpen = false;
    const content = (reply?.content ?? []).filter(isShown);
    const streamed = [...this.parts.values()];
    if (!isWhole(content, streamed)) {
      this.parts.clear();
      const chunks: UIChunk[] = [{ type: 'reset-step' }];
      for (const [index, part] of content.entries()) chunks.push(...(await this.whole(part, `whole.${index}`)));
      return chunks;
    }
    return content.flatMap((part, index): UIChunk[] => {
      const { id = '' } = streamed[index] ?? {};
      return part.type === 'text' || part.type === 'reasoning'
        ? [{ type: `${part.type}-end`, id, ...metadata(part) }]
        : [];
    });
  }

  /** The attempt failed: nothing of it stays. */
  takenBack(): UIChunk[] {
    this.end();
    return [{ type: 'reset-step' }];
  }

  /** The attempt ended. */
  end(): void {
    this.parts.clear();
    this.isOpen = false;
  }

  private callStart(toolCallId: string, name: string): UIChunk {
    const toolName = historyName(name);
    return { type: 'tool-input-start', toolCallId, toolName, ...(this.isDynamic(toolName) && { dynamic: true }) };
  }

  private async whole(part: ReplyPart, id: string): Promise<UIChunk[]> {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [
          { type: `${part.type}-start`, id },
          { type: `${part.type}-delta`, id, delta: part.text },
          { type: `${part.type}-end`, id, ...metadata(part) },
        ];
      case 'tool-call': {
        const { callId, name, input } = part;
        if (!part.providerExecuted) return [this.callStart(callId, name)];
        const { value = {} } = await parsePartialJson(input);
        return [
          {
            type: 'tool-input-available',
            toolCallId: callId,
            toolName: historyName(name),
            input: value,
            providerExecuted: true,
            ...metadata(part),
          },
        ];
      }
      case 'tool-result': {
        const common = { toolCallId: part.callId, providerExecuted: true, ...metadata(part) };
        return part.isError
          ? [{ type: 'tool-output-error', errorText: errorTextOf(part.result), ...common }]
          : [{ type: 'tool-output-available', output: part.result, ...common }];
      }
      case 'source':
        return sourceChunk(part.source);
      case 'file':
      case 'reasoning-file':
        return [{ type: part.type, url: urlOf(part), mediaType: part.mediaType, ...metadata(part) }];
      case 'custom':
        return [{ type: 'custom', kind: part.kind, ...metadata(part) }];
    }
  }
}

/** Whether what was streamed is the whole reply. */
function isWhole(content: readonly ReplyPart[], parts: readonly Streamed[]): boolean {
  if (content.length !== parts.length) return false;
  return content.every((part, index) => {
    const streamed = parts[index];
    if (part.type === 'text' || part.type === 'reasoning')
      return streamed?.kind === part.type && streamed.text === part.text;
    return part.type === 'tool-call' && !part.providerExecuted && streamed?.callId === part.callId;
  });
}

/** An empty text without a provider's data is no part of the conversation. */
function isShown(part: ReplyPart): boolean {
  return (part.type !== 'text' && part.type !== 'reasoning') || part.text !== '' || part.providerOptions !== undefined;
}

function metadata({ providerOptions }: { providerOptions?: ProviderData }): { providerMetadata?: ProviderData } {
  return providerOptions === undefined ? {} : { providerMetadata: providerOptions };
}

function urlOf({ mediaType, data }: FilePart | ReasoningFilePart): string {
  if (data.type === 'url') return data.url;
  if (data.type === 'data') return `data:${mediaType};base64,${data.data}`;
  return `data:${mediaType},${encodeURIComponent(data.text)}`;
}

/** Converts a source to a chunk; a source of an unknown kind is left out. */
function sourceChunk(source: ReplySource['source']): UIChunk[] {
  const { sourceType, id, url, title, mediaType, filename } = objectOf(source);
  const sourceId = textOf(id);
  if (sourceType === 'url')
    return [{ type: 'source-url', sourceId, url: textOf(url), ...(typeof title === 'string' && { title }) }];
  if (sourceType !== 'document') return [];
  return [
    {
      type: 'source-document',
      sourceId,
      mediaType: textOf(mediaType),
      title: textOf(title),
      ...(typeof filename === 'string' && { filename }),
    },
  ];
}

function objectOf(value: Json): JsonObject {
  return isRecord(value) ? value : {};
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function errorTextOf(result: Json): string {
  return typeof result === 'string' ? result : JSON.stringify(result);
}
