import type {
  JSONValue,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from '@ai-sdk/provider';
import {
  type FileData,
  finishSense,
  type Json,
  noUsage,
  oversizedFinish,
  type ProviderData,
  parseToolInput,
  type Reply,
  type ReplyPart,
  type ReplyText,
  type Usage,
  uniqueCallIds,
} from '../../machines/index.ts';
import { shown } from '../errors.ts';
import { bytesOf, bytesOfPart } from './part-size.ts';

export type Delta = { kind: 'text' | 'reasoning' | 'tool-input'; toolName: string | null; delta: string };

/**
 * Builds one reply from the parts of a stream or a full response, in order of arrival (P-4). It judges nothing:
 * unknown parts and finish reasons are recorded as data.
 */
export class ReplyReader {
  private readonly content: ReplyPart[] = [];
  /** Text and reasoning parts by id; the last one with an id is the current one. */
  private readonly texts: { id: string; text: ReplyText }[] = [];
  private readonly openInputs: OpenInput[] = [];
  private bytes = 0;
  private readonly warnings: string[] = [];
  private finishReason: Reply['finishReason'] = null;
  private responseId: string | null = null;
  private modelId: string | null = null;
  usage: Usage = noUsage;
  /** The raw errors from the stream, in order. */
  readonly errors: unknown[] = [];

  /** Adds a part to the reply. Returns the delta that it contributes, if any. */
  take(part: LanguageModelV4StreamPart): Delta | null {
    // A call repeats the input that its deltas brought.
    const isRepeated = part.type === 'tool-call' && this.openInputs.some(({ id }) => id === part.toolCallId);
    this.bytes += isRepeated ? bytesOfPart : bytesOf(part);
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.openText(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return null;
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
        const text = this.openTextOf(kind, part.id) ?? this.openText(kind, part.id, undefined);
        text.text += part.delta;
        addProviderData(text, part.providerMetadata);
        return { kind, toolName: null, delta: part.delta };
      }
      case 'text-end':
      case 'reasoning-end': {
        const text = this.openTextOf(part.type === 'text-end' ? 'text' : 'reasoning', part.id);
        if (text !== undefined) {
          text.ended = true;
          addProviderData(text, part.providerMetadata);
        }
        return null;
      }
      case 'tool-input-start':
        this.openInputs.push({
          id: part.id,
          toolName: part.toolName,
          providerExecuted: part.providerExecuted === true,
          input: '',
        });
        return null;
      case 'tool-input-delta': {
        const open = this.openInputs.findLast((input) => input.id === part.id);
        if (open !== undefined) open.input += part.delta;
        return { kind: 'tool-input', toolName: open?.toolName ?? null, delta: part.delta };
      }
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return null;
      case 'stream-start':
        this.addWarnings(part.warnings);
        return null;
      case 'response-metadata':
        this.responseId = part.id ?? this.responseId;
        this.modelId = part.modelId ?? this.modelId;
        return null;
      case 'finish':
        this.finish(part.finishReason, part.usage);
        return null;
      case 'error':
        this.errors.push(part.error);
        return null;
      default:
        return this.takeContent(part);
    }
  }

  /** Bytes of the content so far, roughly. */
  get size(): number {
    return this.bytes;
  }

  /** Notes that the reply was cut off here, because it was too large. */
  cutOff(): void {
    this.finishReason = oversizedFinish;
  }

  /** Adds a part of a kind shared by streams and full responses. */
  takeContent(part: LanguageModelV4Content): Delta | null {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        this.content.push({ type: part.type, text: part.text, ended: true, ...providerData(part.providerMetadata) });
        return { kind: part.type, toolName: null, delta: part.text };
      case 'tool-call': {
        const opened = this.closeInput(part.toolCallId);
        this.content.push({
          type: 'tool-call',
          callId: textOf(part.toolCallId),
          name: textOf(part.toolName),
          input: typeof part.input === 'string' ? part.input : shownInput(part.input),
          // Some providers set it only on the part that starts the input.
          providerExecuted: part.providerExecuted === true || opened?.providerExecuted === true,
          ...providerData(part.providerMetadata),
        });
        return null;
      }
      case 'tool-result':
        if (part.preliminary === true) return null;
        this.content.push({
          type: 'tool-result',
          callId: textOf(part.toolCallId),
          name: textOf(part.toolName),
          result: jsonOf(part.result),
          isError: part.isError === true,
          ...providerData(part.providerMetadata),
        });
        return null;
      case 'file':
      case 'reasoning-file':
        this.content.push({
          type: part.type,
          mediaType: part.mediaType,
          data: fileData(part.data),
          ...providerData(part.providerMetadata),
        });
        return null;
      case 'source':
        this.content.push({ type: 'source', source: jsonOf(part) });
        return null;
      case 'custom':
        this.content.push({ type: 'custom', kind: part.kind, ...providerData(part.providerMetadata) });
        return null;
      case 'tool-approval-request':
        this.warnings.push(`the provider requested approval of call ${part.toolCallId}, which is not supported`);
        return null;
      default:
        part satisfies never;
        this.warnings.push(`skipped an unknown part: ${shown(part)}`);
        return null;
    }
  }

  finish(reason: LanguageModelV4FinishReason, usage: LanguageModelV4Usage | undefined): void {
    this.finishReason = { unified: reason.unified, raw: reason.raw ?? null };
    this.usage = usageOf(usage);
  }

  addWarnings(warnings: readonly SharedV4Warning[]): void {
    for (const warning of warnings) this.warnings.push(shown(warning));
  }

  /** Returns the reply so far, with call ids that are unique in the conversation (C-2). */
  reply(provider: string, errors: string[], ids: { taken: ReadonlySet<string>; turn: number; attempt: number }): Reply {
    const { finishReason, responseId, modelId } = this;
    const open = this.openInputs.map(({ id, toolName, providerExecuted, input }) => {
      const isWhole = !providerExecuted && parseToolInput(input).state === 'object';
      return { isWhole, callId: textOf(id), name: textOf(toolName), input };
    });
    const content = [...this.content, ...open.filter(({ isWhole }) => isWhole).map(unfinishedCall)];
    const calls = content.filter((part) => part.type === 'tool-call');
    const unique = uniqueCallIds(calls, ids.taken, ids.turn, ids.attempt);
    const word = finishReason?.raw ?? finishReason?.unified;
    const unknown = `the finish reason ${shown(word)} is unknown; the reply was taken as complete`;
    const warnings = finishSense(finishReason) === 'unknown' ? [...this.warnings, unknown] : this.warnings;
    return {
      provider,
      content: withCallIds(content, unique),
      finishReason,
      openInputs: open.flatMap(({ isWhole, ...input }) => (isWhole ? [] : [input])),
      errors,
      warnings,
      responseId,
      modelId,
    };
  }

  private openTextOf(kind: 'text' | 'reasoning', id: string): ReplyText | undefined {
    return this.texts.findLast((one) => one.id === id && one.text.type === kind)?.text;
  }

  private openText(kind: 'text' | 'reasoning', id: string, metadata: SharedV4ProviderMetadata | undefined): ReplyText {
    const text: ReplyText = { type: kind, text: '', ended: false, ...providerData(metadata) };
    this.texts.push({ id, text });
    this.content.push(text);
    return text;
  }

  /** Closes the open input that belongs to a call. Ids may repeat, so each call closes only one. */
  private closeInput(id: string): { providerExecuted: boolean } | undefined {
    const index = this.openInputs.findIndex((input) => input.id === id);
    return index === -1 ? undefined : this.openInputs.splice(index, 1)[0];
  }
}

type OpenInput = { id: string; toolName: string; providerExecuted: boolean; input: string };

/** Returns the call of an input that came whole before the stream broke off. */
function unfinishedCall({ callId, name, input }: { callId: string; name: string; input: string }): ReplyPart {
  return { type: 'tool-call', callId, name, input, providerExecuted: false, unfinished: true };
}

/** Assigns the ids to the calls; the result of a provider-executed tool gets the id of the call before it. */
function withCallIds(content: readonly ReplyPart[], ids: readonly string[]): ReplyPart[] {
  const renamed = new Map<string, string>();
  let calls = 0;
  return content.map((part) => {
    if (part.type === 'tool-call') {
      const callId = ids[calls] ?? part.callId;
      calls += 1;
      renamed.set(part.callId, callId);
      return callId === part.callId ? part : { ...part, callId };
    }
    if (part.type === 'tool-result') return { ...part, callId: renamed.get(part.callId) ?? part.callId };
    return part;
  });
}

/** Reads the provider's token counts. An invalid count becomes 0, so that no budget is evaded (S-4). */
function usageOf(usage: LanguageModelV4Usage | undefined): Usage {
  const { inputTokens, outputTokens } = usage ?? {};
  return {
    input: tokensOf(inputTokens?.total),
    output: tokensOf(outputTokens?.total),
    reasoning: tokensOf(outputTokens?.reasoning),
    cacheRead: tokensOf(inputTokens?.cacheRead),
    cacheWrite: tokensOf(inputTokens?.cacheWrite),
  };
}

function tokensOf(count: unknown): number {
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0;
}

/** Turns a non-string from a badly typed third-party model into an empty string, which is handled as such. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shownInput(input: unknown): string {
  return JSON.stringify(input) ?? '';
}

/** Returns the provider's metadata as the part's options, which go back to the provider (P-5). */
function providerData(metadata: SharedV4ProviderMetadata | undefined): { providerOptions?: ProviderData } {
  return metadata === undefined ? {} : { providerOptions: plain(metadata) };
}

function addProviderData(part: ReplyText, metadata: SharedV4ProviderMetadata | undefined): void {
  if (metadata === undefined) return;
  const merged: ProviderData = { ...part.providerOptions };
  for (const [provider, data] of Object.entries(plain(metadata))) merged[provider] = { ...merged[provider], ...data };
  part.providerOptions = merged;
}

function fileData(data: { type: 'data'; data: string | Uint8Array } | { type: 'url'; url: URL }): FileData {
  if (data.type === 'url') return { type: 'url', url: data.url.toString() };
  return { type: 'data', data: typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64') };
}

function plain(metadata: SharedV4ProviderMetadata): ProviderData {
  const data: ProviderData = JSON.parse(JSON.stringify(metadata));
  return data;
}

function jsonOf(value: JSONValue | object): Json {
  const json: Json = JSON.parse(JSON.stringify(value) ?? 'null');
  return json;
}
