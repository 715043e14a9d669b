import type { AssistantPart, CustomPart, FilePart, ProviderData, ReasoningFilePart } from './conversation.ts';
import { type FinishReason, finishSense } from './finish-reasons.ts';
import type { Json } from './json.ts';

/** A model's unmodified reply in one attempt, built from the raw stream parts (P-4). */
export type Reply = {
  /** The AI SDK's name for the provider that sent it. */
  provider: string;
  content: ReplyPart[];
  finishReason: FinishReason;
  /** Tool inputs that started and were cut off before they were whole, so they are no calls. */
  openInputs: { callId: string; name: string; input: string }[];
  /** Messages of the error parts. */
  errors: string[];
  warnings: string[];
  responseId: string | null;
  modelId: string | null;
};

type WithProviderData = { providerOptions?: ProviderData };
/** `ended` is true if the end of the part arrived. */
export type ReplyText = { type: 'text' | 'reasoning'; text: string; ended: boolean } & WithProviderData;
/**
 * `callId` is unique in the conversation; `input` is the raw text. `unfinished`: the input is whole, but the stream broke
 * off before the provider said so.
 */
export type ReplyCall = {
  type: 'tool-call';
  callId: string;
  name: string;
  input: string;
  providerExecuted: boolean;
  unfinished?: true;
  /** The tool takes a text, so the input is a JSON string. */
  isText?: true;
  /** The provider runs it, and gives the result in a later reply: it paused, calls our tools first, or said so before. */
  isAwaited?: true;
  /** The id as it came, if it is unique and not `callId` (C-2). */
  providerId?: string;
} & WithProviderData;
/** The result of a provider-executed tool. */
export type ReplyResult = {
  type: 'tool-result';
  callId: string;
  name: string;
  result: Json;
  isError: boolean;
} & WithProviderData;
export type ReplySource = { type: 'source'; source: Json };
export type ReplyPart = ReplyText | ReplyCall | ReplyResult | ReplySource | FilePart | ReasoningFilePart | CustomPart;

/** Tokens used by one request; 0 where the provider reported none. `input` includes tokens read from a cache. */
export type Usage = {
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
};

export const noUsage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };

/**
 * Returns true if the reply is complete (C-5): its finish reason is not `broken` or `malformed`, it was not cut off
 * here, no part is an error, and every tool input that started became a call.
 */
export function isComplete(reply: Reply): boolean {
  const sense = finishSense(reply.finishReason);
  const calls = replyCalls(reply);
  const allCame = reply.openInputs.length === 0 && calls.every((call) => call.unfinished !== true);
  return !['broken', 'malformed', 'oversized', 'degenerate'].includes(sense) && reply.errors.length === 0 && allCame;
}

/** Returns true if the output limit cut the reply off. */
export function isTruncated(reply: Reply): boolean {
  return finishSense(reply.finishReason) === 'truncated';
}

/** Why Pawl itself cut a reply off: it was larger than a reply may be, or repeated itself. */
export type CutHere = 'response_truncated' | 'degenerate_reply';

/** Returns why the reply was cut off here; null if it was not. */
export function cutHere(reply: Reply): CutHere | null {
  switch (finishSense(reply.finishReason)) {
    case 'oversized':
      return 'response_truncated';
    case 'degenerate':
      return 'degenerate_reply';
    default:
      return null;
  }
}

/** Returns true if the provider paused, to continue once it gets the reply back (T-2). */
export function isPaused(reply: Reply): boolean {
  return finishSense(reply.finishReason) === 'paused';
}

export function replyCalls(reply: Reply): ReplyCall[] {
  return reply.content.filter((part) => part.type === 'tool-call');
}

export function replyText(reply: Reply): string {
  return reply.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

export function replyReasoning(reply: Reply): string {
  return reply.content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('');
}

export function replyFiles(reply: Reply): FilePart[] {
  return reply.content.filter((part) => part.type === 'file');
}

/** Returns the results of provider-executed tools by call id. */
export function providerResults(reply: Reply): Map<string, ReplyResult> {
  return new Map(reply.content.flatMap((part) => (part.type === 'tool-result' ? [[part.callId, part] as const] : [])));
}

/** Returns true for text that is left out: blank, and without provider data, such as an item reference. */
export function isBlank(part: { type: string; text?: string; providerOptions?: ProviderData }): boolean {
  return part.type === 'text' && part.text?.trim() === '' && part.providerOptions === undefined;
}

/** Returns true for a part that may stand alone in a message. */
export function standsAlone(part: AssistantPart): boolean {
  return part.type === 'text' ? part.text.trim() !== '' : !companions.includes(part.type);
}

/** Parts that are never sent back alone: some providers reject such a message, others drop the parts. */
const companions: readonly AssistantPart['type'][] = ['reasoning', 'reasoning-file', 'custom'];
