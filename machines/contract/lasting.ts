import { utf8Length } from './context.ts';
import {
  type AssistantMessage,
  type AssistantPart,
  historyName,
  type ProviderData,
  type ToolOutput,
} from './conversation.ts';
import type { Json } from './json.ts';
import {
  isBlank,
  isComplete,
  isPaused,
  providerResults,
  type Reply,
  type ReplyPart,
  type ReplyResult,
  replyCalls,
  standsAlone,
} from './reply.ts';
import { historyInput } from './tool-input.ts';

/** What lasts of a reply: the message that it adds to the conversation. */

/**
 * Returns the message that a reply adds to the conversation, or null (C-2, C-6). It omits sources and lone reasoning.
 * A complete reply's provider-executed calls and results go back unchanged, even the result of an earlier call that is
 * still `open`. An incomplete reply keeps only whole pairs and finished parts, adds nothing without a call, and refers to
 * nothing that its provider keeps (P-6).
 */
export function assistantMessage(reply: Reply, open: ReadonlySet<string>): AssistantMessage | null {
  const complete = isComplete(reply);
  const results = providerResults(reply);
  const provided = new Set(replyCalls(reply).flatMap((call) => (call.providerExecuted ? [call.callId] : [])));
  const parts = complete ? reply.content : unreferred(reply);
  const content = parts
    .filter((part) => part.type !== 'tool-result' || provided.has(part.callId) || (complete && open.has(part.callId)))
    .flatMap((part): AssistantPart[] => lastingPart(part, complete, results));
  const lasting = complete ? content.some(standsAlone) : content.some((part) => part.type === 'tool-call');
  if (!lasting) return null;
  const message = { role: 'assistant', content, provider: reply.provider } as const;
  const isOpen = complete && (isPaused(reply) || replyCalls(reply).some((call) => call.isAwaited === true));
  return isOpen ? { ...message, open: true } : message;
}

function lastingPart(part: ReplyPart, complete: boolean, results: Map<string, ReplyResult>): AssistantPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      if (!complete && !part.ended) return [];
      if (isBlank(part)) return [];
      return [{ type: part.type, text: part.text, ...providerData(part) }];
    }
    case 'tool-call': {
      if (part.providerExecuted && !results.has(part.callId) && !(complete && part.isAwaited === true)) return [];
      const call = {
        type: 'tool-call',
        toolCallId: part.callId,
        toolName: historyName(part.name),
        input: historyInput(part),
        ...providerData(part),
      } as const;
      if (part.providerExecuted) return [{ ...call, providerExecuted: true }];
      const { isText, providerId } = part;
      return [{ ...call, ...(isText === true && { isText }), ...(providerId !== undefined && { providerId }) }];
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

function providerData(part: { providerOptions?: ProviderData }): { providerOptions?: ProviderData } {
  return part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions };
}

/**
 * Returns the parts of a reply that did not complete without references to items of its provider, which never kept them
 * (P-6). Nothing stays of what is such a reference alone: reasoning that is not encrypted, and what the provider ran.
 */
function unreferred({ content, provider }: Reply): ReplyPart[] {
  // The API whose answers are items, also by the names of other providers that offer it.
  if (!provider.endsWith('.responses') && !content.some((part) => JSON.stringify(part).includes(itemId)))
    return content;
  return content.flatMap((part): ReplyPart[] => {
    const isProvided = part.type === 'tool-result' || (part.type === 'tool-call' && part.providerExecuted);
    if (isProvided || part.type === 'custom') return [];
    if (!('providerOptions' in part) || part.providerOptions === undefined) return [part];
    const { providerOptions, ...rest } = part;
    const kept = withoutItemIds(providerOptions);
    const isEncrypted = Object.values(kept).some((own) => typeof own.reasoningEncryptedContent === 'string');
    return part.type === 'reasoning' && !isEncrypted ? [] : [{ ...rest, providerOptions: kept } as ReplyPart];
  });
}

const itemId = '"itemId":';

/** Returns provider data without the ids of items, however deep; the data itself if it has none. */
export function withoutItemIds(data: ProviderData): ProviderData {
  return JSON.stringify(data).includes(itemId) ? (withoutKey(data) as ProviderData) : data;
}

function withoutKey(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutKey);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (name === 'itemId' ? [] : [[name, withoutKey(item)]])),
  );
}

/** The most bytes of what a failed attempt said that stay in the conversation (C-7). */
const failedBytes = 1_024;

/**
 * Returns the message that the reply of a failed attempt leaves in the conversation, or null (C-7). It stands for its calls
 * alone: with them stay the head and tail of what was said, and what a provider signed.
 */
export function failedMessage(reply: Reply, open: ReadonlySet<string>): AssistantMessage | null {
  const message = assistantMessage(reply, open);
  if (message === null) return null;
  const { content } = message;
  if (!content.some(({ type }) => type === 'tool-call' || type === 'tool-result')) return null;
  const share = Math.floor(failedBytes / Math.max(1, content.filter((part) => wordsOf(part) !== null).length));
  return {
    ...message,
    content: content.flatMap((part) => {
      const words = wordsOf(part);
      if (words !== null) return withWords(part, headAndTail(words, share));
      return part.type === 'file' && part.providerOptions === undefined ? [] : part;
    }),
  };
}

/** Returns what a part says in words, if no provider has signed it; null if it says nothing so. */
function wordsOf(part: AssistantPart): string | null {
  if (part.type === 'text') return part.text;
  if (part.type === 'reasoning') return part.providerOptions === undefined ? part.text : null;
  const malformed = part.type === 'tool-call' ? part.input.malformed_input : null;
  return typeof malformed === 'string' ? malformed : null;
}

function withWords(part: AssistantPart, words: string): AssistantPart {
  if (part.type === 'tool-call') return { ...part, input: { malformed_input: words } };
  return { ...part, text: words } as AssistantPart;
}

const leftOut = ' [… left out …] ';

/** Returns a text of at most `bytes`: its head and its tail, which end and begin between words, unless they are long. */
function headAndTail(text: string, bytes: number): string {
  if (utf8Length(text) <= bytes) return text;
  const half = Math.max(0, Math.floor((bytes - utf8Length(leftOut)) / 2));
  let head = half;
  while (utf8Length(text.slice(0, head)) > half) head -= 1;
  let tail = half;
  while (utf8Length(text.slice(text.length - tail)) > half) tail -= 1;
  const from = text
    .slice(0, head)
    .replace(/\S{1,64}$/, '')
    .toWellFormed();
  const to = text
    .slice(text.length - tail)
    .replace(/^\S{1,64}/, '')
    .toWellFormed();
  return `${from}${leftOut}${to}`;
}
