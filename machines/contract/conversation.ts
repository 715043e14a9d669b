import type { Json, JsonObject } from './json.ts';

/**
 * The durable conversation: plain JSON in the shapes of the AI SDK's language model prompt, so building a prompt needs
 * no conversion. It is kept outside the machines, as a fold over their facts (D-6).
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
  /** The tool takes a text, which `input` holds as `{ text }`. */
  isText?: boolean;
} & WithProviderData;
export type ToolResultPart = {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: ToolOutput;
} & WithProviderData;

/** The answer to a tool call, in the form that the model reads. */
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
/**
 * `provider` sent the message; only it gets the reasoning and provider-executed calls back (P-5). `open`: the provider
 * paused, or has not yet returned the result of a call, so it continues from this message.
 */
export type AssistantMessage = {
  role: 'assistant';
  content: AssistantPart[];
  provider?: string;
  open?: boolean;
} & WithProviderData;
export type ToolMessage = { role: 'tool'; content: ToolResultPart[] } & WithProviderData;
export type Message = UserMessage | AssistantMessage | ToolMessage;

export function userMessage(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/**
 * Returns a name that every provider accepts in a conversation (C-2, C-6): 1 to 64 of `A-Z a-z 0-9 _ -`. Other
 * characters become `_`. A built-in property name (`toString`) gets a trailing `_`, as adapters may look it up.
 */
export function historyName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
  if (clean === '') return 'unnamed_tool';
  return clean in {} ? `${clean.slice(0, 63)}_` : clean;
}

/** Matches call ids that every provider accepts, because ids pass between providers. OpenAI's limit of 64 is the lowest. */
export const callIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns an id for call `index` of a reply that is unique in the whole conversation (C-2). An id that is missing,
 * repeated or not accepted by every provider is replaced by one derived from turn, attempt and index. The id of a
 * provider-executed call is the provider's own reference, and never changes.
 */
export function uniqueCallId(
  { callId, providerExecuted }: { callId: string; providerExecuted: boolean },
  { turn, attempt, index }: { turn: number; attempt: number; index: number },
  isTaken: (id: string) => boolean,
): string {
  if (providerExecuted) return callId;
  let unique = callIdPattern.test(callId) && !isTaken(callId) ? callId : `call_${turn}_${attempt}_${index}`;
  while (isTaken(unique)) unique = `${unique}_`;
  return unique;
}

/** Appends a message, merging adjacent assistant or tool messages (C-6). It never mutates message objects. */
export function appendMerged(messages: Message[], message: Message): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && message.role === 'assistant') {
    const { open: _, ...before } = last;
    messages[messages.length - 1] = { ...before, ...message, content: [...last.content, ...message.content] };
  } else if (last?.role === 'tool' && message.role === 'tool') {
    messages[messages.length - 1] = { ...last, ...message, content: [...last.content, ...message.content] };
  } else {
    messages.push(message);
  }
}
