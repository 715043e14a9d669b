import type { Json, JsonObject } from './json.ts';

/**
 * The conversation as it lasts: plain JSON, in the shapes of the AI SDK's language model prompt, so that a prompt is
 * built from it without translation. Kept outside the machines, as a fold over their facts (D-6).
 */
export type ProviderData = Record<string, JsonObject>;
type WithProviderData = { providerOptions?: ProviderData };

export type FileData = { type: 'data'; data: string } | { type: 'url'; url: string } | { type: 'text'; text: string };

export type TextPart = { type: 'text'; text: string } & WithProviderData;
export type FilePart = { type: 'file'; mediaType: string; data: FileData; filename?: string } & WithProviderData;
export type ReasoningPart = { type: 'reasoning'; text: string } & WithProviderData;
export type ReasoningFilePart = { type: 'reasoning-file'; mediaType: string; data: FileData } & WithProviderData;
export type CustomPart = { type: 'custom'; kind: `${string}.${string}` } & WithProviderData;
export type ToolCallPart = {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: JsonObject;
  providerExecuted?: boolean;
} & WithProviderData;
export type ToolResultPart = {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: ToolOutput;
} & WithProviderData;

/** What the model reads as the answer to a tool call. */
export type ToolOutput =
  | { type: 'text'; value: string }
  | { type: 'json'; value: Json }
  | { type: 'error-text'; value: string }
  | { type: 'error-json'; value: Json }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: (TextPart | FilePart)[] };

export type UserMessage = { role: 'user'; content: (TextPart | FilePart)[] } & WithProviderData;
export type AssistantPart =
  | TextPart
  | FilePart
  | ReasoningPart
  | ReasoningFilePart
  | CustomPart
  | ToolCallPart
  | ToolResultPart;
/** `provider` names who made the message: reasoning and what the provider executed itself go back to it alone (P-5). */
export type AssistantMessage = {
  role: 'assistant';
  content: AssistantPart[];
  provider?: string;
} & WithProviderData;
export type ToolMessage = { role: 'tool'; content: ToolResultPart[] } & WithProviderData;
export type Message = UserMessage | AssistantMessage | ToolMessage;

export function userMessage(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/**
 * A name that every provider accepts in a conversation (C-2, C-6): 1 to 64 of `A-Z a-z 0-9 _ -`; others become `_`, and
 * so does the end of a name that every object has (`toString`), which adapters may look up in their tables.
 */
export function historyName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
  if (clean === '') return 'unnamed_tool';
  return clean in {} ? `${clean.slice(0, 63)}_` : clean;
}

/** An id of a call that every provider accepts: they pass from one to the other. */
export const callIdPattern = /^[A-Za-z0-9_-]{1,40}$/;

/**
 * The ids of a reply's calls, each one of a kind in the whole conversation (C-2): a missing or repeated one, or one that not every
 * provider accepts, is replaced
 * by one derived from turn, attempt and index. `taken` holds the ids that came before.
 */
export function uniqueCallIds(
  ids: readonly string[],
  taken: ReadonlySet<string>,
  turn: number,
  attempt: number,
): string[] {
  const own = new Set<string>();
  return ids.map((id, index) => {
    const free = (candidate: string) => !taken.has(candidate) && !own.has(candidate);
    let unique = callIdPattern.test(id) && free(id) ? id : `call_${turn}_${attempt}_${index}`;
    while (!free(unique)) unique = `${unique}_`;
    own.add(unique);
    return unique;
  });
}

/** Adjacent assistant messages become one, and so do adjacent tool messages (C-6); nothing that came in is changed. */
export function appendMerged(messages: Message[], message: Message): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && message.role === 'assistant') {
    messages[messages.length - 1] = { ...last, ...message, content: [...last.content, ...message.content] };
  } else if (last?.role === 'tool' && message.role === 'tool') {
    messages[messages.length - 1] = { ...last, ...message, content: [...last.content, ...message.content] };
  } else {
    messages.push(message);
  }
}
