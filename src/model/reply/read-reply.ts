import type { LanguageModelV4Content, LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import {
  type CallIds,
  finishSense,
  noUsage,
  type Reply,
  type ReplyPart,
  type ReplyText,
  type Usage,
  uniqueCallId,
} from '../../../machines/index.ts';
import { shown } from '../../input/errors.ts';
import { statedCost } from '../pricing.ts';
import { bytesOfPart, partBytes } from './part-size.ts';
import {
  addProviderData,
  type Delta,
  fileData,
  finishedCall,
  isObjectText,
  type OpenInput,
  type OpenText,
  partKind,
  providerData,
  providerUsage,
  type ReplyPlace,
  replyJson,
  resultPart,
  saysNoFinishReason,
  shownInput,
  stringOrEmpty,
  unfinishedCall,
} from './reply-values.ts';

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

/**
 * Builds one reply from the parts of a stream or a full response, in order of arrival (P-4). It judges nothing:
 * unknown parts and finish reasons are recorded as data.
 */
export class ReplyReader {
  private readonly content: ReplyPart[] = [];
  /** Text and reasoning parts by id: the last one with an id is the current one. */
  private readonly texts = { text: new Map<string, OpenText>(), reasoning: new Map<string, OpenText>() };
  private readonly openInputs = new Set<OpenInput>();
  /** The open inputs with each id, in order: ids may repeat. */
  private readonly inputsById = new Map<unknown, OpenInput[]>();
  private bytes = 0;
  private readonly warnings: string[] = [];
  /** Why the reply ended; set from outside where it was cut off here. */
  finishReason: Reply['finishReason'] = null;
  private responseId: string | null = null;
  private modelId: string | null = null;
  usage: Usage = noUsage;
  /** In US dollars, as its provider states it. */
  costUsd: number | null = null;
  /** The raw errors from the stream, in order. */
  readonly errors: unknown[] = [];
  private readonly place: ReplyPlace;
  private readonly ownIds = new Set<string>();
  private parts = 0;
  private calls = 0;

  constructor(place: ReplyPlace) {
    this.place = place;
  }

  /**
   * Adds a part to the reply, unless it is malformed (P-4). Returns the delta that it contributes, or null; an empty one
   * says that its part has ended.
   */
  takePart(part: LanguageModelV4StreamPart): Delta | null {
    try {
      return this.taken(part);
    } catch {
      this.warnings.push(`skipped a malformed part: ${shown(part)}`);
      return null;
    }
  }

  private taken(part: LanguageModelV4StreamPart): Delta | null {
    // A call repeats the input that its deltas brought.
    const open = part.type === 'tool-call' ? this.inputsById.get(part.toolCallId)?.[0] : undefined;
    this.bytes += open === undefined ? partBytes(part) : Math.max(bytesOfPart, partBytes(part) - open.input.length);
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.openText(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return null;
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
        const open = this.texts[kind].get(part.id) ?? this.openText(kind, part.id, undefined);
        const delta = stringOrEmpty(part.delta);
        open.text.text += delta;
        addProviderData(open.text, part.providerMetadata);
        return this.delta(kind, open.part, delta);
      }
      case 'text-end':
      case 'reasoning-end': {
        const open = this.texts[part.type === 'text-end' ? 'text' : 'reasoning'].get(part.id);
        if (open === undefined) return null;
        open.text.ended = true;
        addProviderData(open.text, part.providerMetadata);
        return this.delta(open.text.type, open.part, '', null, true);
      }
      case 'tool-input-start':
        this.openInput(part.id, part.toolName, part.providerExecuted === true);
        return null;
      case 'tool-input-delta': {
        const open = this.inputsById.get(part.id)?.at(-1);
        if (open === undefined) return null;
        const delta = stringOrEmpty(part.delta);
        open.input += delta;
        return this.delta('tool-input', open.part, delta, open);
      }
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return null;
      case 'stream-start':
        for (const warning of part.warnings ?? []) this.warnings.push(shown(warning));
        return null;
      case 'response-metadata':
        this.responseId = stringOrEmpty(part.id) || this.responseId;
        this.modelId = stringOrEmpty(part.modelId) || this.modelId;
        return null;
      case 'finish':
        this.finish(part);
        return null;
      case 'error':
        this.errors.push(part.error);
        return null;
      default:
        return this.takeContent(part);
    }
  }

  /** Bytes of the content so far, roughly. */
  get size() {
    return this.bytes;
  }

  /** Takes a reply with whole calls as complete whose stream said that it is done, and gave no finish reason (C-5). */
  endByDone(): void {
    const open = [...this.openInputs].map(finishedCall);
    const calls = [...this.content, ...open].flatMap((part) => (part.type === 'tool-call' ? part : []));
    const isWhole = calls.length > 0 && calls.every(({ input }) => isObjectText(input));
    const isCut = finishSense(this.finishReason) === 'broken' && this.errors.every(saysNoFinishReason);
    if (!isWhole || !isCut) return;
    this.openInputs.clear();
    this.errors.length = 0;
    this.content.push(...open);
    this.warnings.push('the stream ended with [DONE] and no finish reason; its calls were taken as complete');
    this.finishReason = { unified: 'tool-calls', raw: null };
  }

  /** Adds a part of a kind shared by streams and full responses. */
  private takeContent(part: LanguageModelV4Content): Delta | null {
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const text = stringOrEmpty(part.text);
        this.content.push({ type: part.type, text, ended: true, ...providerData(part.providerMetadata) });
        return this.delta(part.type, this.nextPart(), text);
      }
      case 'tool-call': {
        const opened = this.closeInput(part.toolCallId);
        // Some providers set it only on the part that starts the input, and some only on the call.
        const providerExecuted = part.providerExecuted === true || opened?.providerExecuted === true;
        const own = () => opened?.ids ?? this.uniqueIds(part.toolCallId, false);
        this.content.push({
          type: 'tool-call',
          ...(providerExecuted ? { callId: stringOrEmpty(part.toolCallId) } : own()),
          name: stringOrEmpty(part.toolName),
          input: typeof part.input === 'string' ? part.input : shownInput(part.input),
          providerExecuted,
          ...providerData(part.providerMetadata),
        });
        return null;
      }
      case 'tool-result':
        if (part.preliminary !== true) this.content.push(resultPart(part));
        return null;
      case 'file':
      case 'reasoning-file':
        this.content.push({
          type: part.type,
          mediaType: stringOrEmpty(part.mediaType),
          data: fileData(part.data),
          ...providerData(part.providerMetadata),
        });
        return null;
      case 'source':
        this.content.push({ type: 'source', source: replyJson(part) });
        return null;
      case 'custom':
        this.content.push({ type: 'custom', kind: partKind(part.kind), ...providerData(part.providerMetadata) });
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

  private finish({ finishReason: reason, usage, providerMetadata }: FinishPart): void {
    this.costUsd ??= statedCost(usage?.raw, providerMetadata);
    this.finishReason = { unified: stringOrEmpty(reason.unified) || 'other', raw: stringOrEmpty(reason.raw) || null };
    const counted = providerUsage(usage);
    // A second finish part without usage must not reset the count (S-4).
    if (counted.input + counted.output > 0) this.usage = counted;
  }

  /** Returns the reply so far. */
  reply(provider: string, errors: string[]): Reply {
    const { finishReason, responseId, modelId } = this;
    const open = [...this.openInputs].map(({ ids, toolName, providerExecuted, input }) => {
      const isWhole = !providerExecuted && isObjectText(input);
      return { isWhole, ids, name: toolName, input };
    });
    const content = [...this.content, ...open.filter(({ isWhole }) => isWhole).map(unfinishedCall)];
    const word = finishReason?.raw ?? finishReason?.unified;
    const unknown = `the finish reason ${shown(word)} is unknown; the reply was taken as complete`;
    const warnings = finishSense(finishReason) === 'unknown' ? [...this.warnings, unknown] : this.warnings;
    return {
      provider,
      content,
      finishReason,
      openInputs: open.flatMap(({ isWhole, ids: { callId }, name, input }) =>
        isWhole ? [] : [{ callId, name, input }],
      ),
      errors,
      warnings,
      responseId,
      modelId,
    };
  }

  /** Builds a delta. Returns null if it is empty, unless it marks the end of its part (`ends`). */
  private delta(
    kind: Delta['kind'],
    part: number,
    delta: string,
    call: OpenInput | null = null,
    ends = false,
  ): Delta | null {
    if (delta === '' && !ends) return null;
    const { turn, attempt } = this.place;
    const [callId, toolName] = [call?.ids.callId ?? null, call?.toolName ?? null];
    return { type: 'model.delta', turn, attempt, kind, part, callId, toolName, delta };
  }

  private openText(kind: 'text' | 'reasoning', id: string, metadata: SharedV4ProviderMetadata | undefined): OpenText {
    const text: ReplyText = { type: kind, text: '', ended: false, ...providerData(metadata) };
    const open = { part: this.nextPart(), text };
    this.texts[kind].set(id, open);
    this.content.push(text);
    return open;
  }

  private openInput(id: unknown, toolName: unknown, providerExecuted: boolean): void {
    const ids = this.uniqueIds(id, providerExecuted);
    const part = this.nextPart();
    const open: OpenInput = { ids, part, toolName: stringOrEmpty(toolName), providerExecuted, input: '' };
    this.openInputs.add(open);
    const sameId = this.inputsById.get(id) ?? [];
    sameId.push(open);
    this.inputsById.set(id, sameId);
  }

  private nextPart(): number {
    this.parts += 1;
    return this.parts - 1;
  }

  /** Returns the ids of the next call, unique in the conversation (C-2). */
  private uniqueIds(id: unknown, providerExecuted: boolean): CallIds {
    const { turn, attempt, takenIds } = this.place;
    const index = this.calls;
    this.calls += 1;
    const isTaken = (one: string) => takenIds.has(one) || this.ownIds.has(one);
    const given = { callId: stringOrEmpty(id).toWellFormed(), providerExecuted };
    const ids = uniqueCallId(given, { turn, attempt, index }, isTaken);
    if (!providerExecuted) this.ownIds.add(ids.callId).add(ids.providerId ?? ids.callId);
    return ids;
  }

  /** Closes the open input that belongs to a call. Ids may repeat, so each call closes only one. */
  private closeInput(id: string): OpenInput | undefined {
    const open = this.inputsById.get(id)?.shift();
    if (open !== undefined) this.openInputs.delete(open);
    return open;
  }
}
