import {
  InvalidResponseDataError,
  type LanguageModelV4ToolResult,
  type LanguageModelV4Usage,
  type SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import {
  type CallIds,
  type FileData,
  type Json,
  type ProviderData,
  parseToolInput,
  type ReplyPart,
  type ReplyText,
  type Usage,
} from '../../../machines/index.ts';
import type { Sighting } from '../../observe/events.ts';
import { base64Of } from '../../platform/bytes.ts';
import { plainJson } from '../../platform/plain-json.ts';

/**
 * Reads the provider's token counts. Without a total, its parts are added; an invalid count becomes 0, so that no budget is
 * evaded (S-4).
 */
export function providerUsage(usage: LanguageModelV4Usage | undefined): Usage {
  const { inputTokens, outputTokens } = usage ?? {};
  const [reasoning, text] = [tokensOf(outputTokens?.reasoning), tokensOf(outputTokens?.text)];
  const [cacheRead, cacheWrite] = [tokensOf(inputTokens?.cacheRead), tokensOf(inputTokens?.cacheWrite)];
  return {
    input: tokensOf(inputTokens?.total) || tokensOf(inputTokens?.noCache) + cacheRead + cacheWrite,
    output: tokensOf(outputTokens?.total) || text + reasoning,
    reasoning,
    cacheRead,
    cacheWrite,
  };
}

/** An absurd count stays one whose sums and prices are finite. */
function tokensOf(count: unknown): number {
  return typeof count === 'number' && Number.isFinite(count) && count > 0
    ? Math.min(count, Number.MAX_SAFE_INTEGER)
    : 0;
}

/** Turns a non-string from a badly typed third-party model into an empty string, which is handled as such. */
export function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the kind of a part of the provider's own. Throws if it has none. */
export function partKind<Kind extends string>(kind: Kind): Kind {
  if (typeof kind !== 'string') throw new TypeError('the part has no kind');
  return kind;
}

export function shownInput(input: unknown): string {
  return input === undefined ? '' : JSON.stringify(replyJson(input));
}

/** Returns the provider's metadata as the part's options, which go back to the provider (P-5). */
export function providerData(metadata: SharedV4ProviderMetadata | null | undefined): {
  providerOptions?: ProviderData;
} {
  return metadata == null ? {} : { providerOptions: plain(metadata) };
}

export function addProviderData(part: ReplyText, metadata: SharedV4ProviderMetadata | null | undefined): void {
  if (metadata == null) return;
  const merged: ProviderData = { ...part.providerOptions };
  for (const [provider, data] of Object.entries(plain(metadata))) merged[provider] = { ...merged[provider], ...data };
  part.providerOptions = merged;
}

type GivenFile = { type: 'data'; data: string | Uint8Array } | { type: 'url'; url: URL } | string | Uint8Array;

/** Reads a file's data. In earlier versions of the specification it is base64 or bytes. */
export function fileData(given: GivenFile): FileData {
  const data =
    typeof given === 'string' || given instanceof Uint8Array ? { type: 'data' as const, data: given } : given;
  if (data.type === 'url') return { type: 'url', url: data.url.toString() };
  return { type: 'data', data: base64Of(data.data) };
}

function plain(metadata: SharedV4ProviderMetadata): ProviderData {
  return replyJson(metadata) as ProviderData;
}

function substituteFor(value: unknown): Json {
  try {
    return plainJson(value);
  } catch {
    return '[unreadable]';
  }
}

/** Returns a value as JSON. A value from a badly typed model may not convert and gets a substitute. */
export function replyJson(value: unknown): Json {
  try {
    const json: Json = JSON.parse(JSON.stringify(value) ?? 'null');
    return json;
  } catch {
    return substituteFor(value);
  }
}

/** Returns the call of an input that came whole before the stream broke off. */
export function unfinishedCall({ ids, name, input }: { ids: CallIds; name: string; input: string }): ReplyPart {
  return { type: 'tool-call', ...ids, name, input, providerExecuted: false, unfinished: true };
}

/** Returns the call whose input came whole, and no part said so. */
export function finishedCall({ ids, toolName, input, providerExecuted }: OpenInput): ReplyPart {
  return { type: 'tool-call', ...ids, name: toolName, input, providerExecuted };
}

/** Whether an error of the SDK says no more than that a stream gave no finish reason. */
export function saysNoFinishReason(error: unknown): boolean {
  return InvalidResponseDataError.isInstance(error) && /without a finish reason/.test(error.message);
}

/** Whether a text is a whole JSON object. */
export function isObjectText(input: string): boolean {
  return parseToolInput(input).state === 'object';
}

/** Reads the result of a call that the provider ran. */
export function resultPart(part: LanguageModelV4ToolResult): ReplyPart {
  return {
    type: 'tool-result',
    callId: stringOrEmpty(part.toolCallId),
    name: stringOrEmpty(part.toolName),
    result: replyJson(part.result),
    isError: part.isError === true,
    ...providerData(part.providerMetadata),
  };
}

/** A part of a reply that is still open. */
export type OpenText = { part: number; text: ReplyText };
export type OpenInput = {
  ids: CallIds;
  part: number;
  toolName: string;
  providerExecuted: boolean;
  input: string;
};

/** A piece of a reply's part. Parts are numbered in the order of their beginning. */
export type Delta = Extract<Sighting, { type: 'model.delta' }>;

/** Where a reply stands in the session, and the call ids before it. */
export type ReplyPlace = { turn: number; attempt: number; takenIds: ReadonlySet<string> };
