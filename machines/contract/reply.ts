import {
  type AssistantMessage,
  type AssistantPart,
  type CustomPart,
  type FilePart,
  historyName,
  type ProviderData,
  type ReasoningFilePart,
  type ToolOutput,
} from './conversation.ts';
import type { Json } from './json.ts';
import { historyInput } from './tool-input.ts';

/** What a model sent in one attempt, as it came: built from the stream's own parts (P-4). */
export type Reply = {
  /** Who made it, as the AI SDK names the provider. */
  provider: string;
  content: ReplyPart[];
  /** null: the stream ended without saying why. */
  finishReason: { unified: string; raw: string | null } | null;
  /** Tool inputs that started and whose call never came. */
  openInputs: number;
  /** Messages of the error parts. */
  errors: string[];
  warnings: string[];
  responseId: string | null;
  modelId: string | null;
};

type WithProviderData = { providerOptions?: ProviderData };
/** `ended`: the part's end was seen. */
export type ReplyText = { type: 'text' | 'reasoning'; text: string; ended: boolean } & WithProviderData;
/** `callId` is unique in the conversation; `input` is the text as it came. */
export type ReplyCall = {
  type: 'tool-call';
  callId: string;
  name: string;
  input: string;
  providerExecuted: boolean;
} & WithProviderData;
/** The result of a tool that the provider executed. */
export type ReplyResult = {
  type: 'tool-result';
  callId: string;
  name: string;
  result: Json;
  isError: boolean;
} & WithProviderData;
export type ReplySource = { type: 'source'; source: Json };
export type ReplyPart = ReplyText | ReplyCall | ReplyResult | ReplySource | FilePart | ReasoningFilePart | CustomPart;

/** Tokens of one request; 0 where the provider did not say. `input` includes what was read from a cache. */
export type Usage = {
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
};

export const noUsage: Usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };

const knownFinishReasons: readonly string[] = ['stop', 'length', 'content-filter', 'tool-calls'];

/** Complete (C-5): finished for a known reason, without an error part, and every tool input that started has its call. */
export function isComplete(reply: Reply): boolean {
  return (
    reply.finishReason !== null &&
    knownFinishReasons.includes(reply.finishReason.unified) &&
    reply.errors.length === 0 &&
    reply.openInputs === 0
  );
}

/** Cut off by the output limit. */
export function isTruncated(reply: Reply): boolean {
  return reply.finishReason?.unified === 'length';
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

/** The results of the tools that the provider executed, by call id. */
export function providerResults(reply: Reply): Map<string, ReplyResult> {
  return new Map(reply.content.flatMap((part) => (part.type === 'tool-result' ? [[part.callId, part] as const] : [])));
}

/** Parts that are sent back beside others, never alone: some providers refuse that, others drop them. */
export const companions: readonly AssistantPart['type'][] = ['reasoning', 'reasoning-file', 'custom'];

/**
 * The message that a reply leaves in the conversation, or null (C-2, C-6). Sources, unfinished parts of an incomplete
 * reply, reasoning alone, calls of the provider's own tools without a result and results without their call are left out;
 * of an incomplete reply without a call nothing stays.
 */
export function assistantMessage(reply: Reply): AssistantMessage | null {
  const complete = isComplete(reply);
  const results = providerResults(reply);
  const provided = new Set(replyCalls(reply).flatMap((call) => (call.providerExecuted ? [call.callId] : [])));
  const content = reply.content
    .filter((part) => part.type !== 'tool-result' || provided.has(part.callId))
    .flatMap((part): AssistantPart[] => lastingPart(part, complete, results));
  const meaningful = content.some((part) => !companions.includes(part.type));
  const lasting = complete ? meaningful : content.some((part) => part.type === 'tool-call');
  return lasting ? { role: 'assistant', content, provider: reply.provider } : null;
}

function lastingPart(part: ReplyPart, complete: boolean, results: Map<string, ReplyResult>): AssistantPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      if (!complete && !part.ended) return [];
      if (part.type === 'text' && part.text.trim() === '') return [];
      return [{ type: part.type, text: part.text, ...providerData(part) }];
    }
    case 'tool-call': {
      if (part.providerExecuted && !results.has(part.callId)) return [];
      const call = {
        type: 'tool-call',
        toolCallId: part.callId,
        toolName: historyName(part.name),
        input: historyInput(part.input),
        ...providerData(part),
      } as const;
      return [part.providerExecuted ? { ...call, providerExecuted: true } : call];
    }
    case 'tool-result': {
      const output: ToolOutput = { type: part.isError ? 'error-json' : 'json', value: part.result };
      return [
        {
          type: 'tool-result',
          toolCallId: part.callId,
          toolName: historyName(part.name),
          output,
          ...providerData(part),
        },
      ];
    }
    case 'file':
    case 'reasoning-file':
    case 'custom':
      return [part];
    case 'source':
      return [];
    default:
      return part satisfies never;
  }
}

function providerData(part: WithProviderData): WithProviderData {
  return part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions };
}
