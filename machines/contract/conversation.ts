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
  /** The id that the provider gave the call, if it is not `toolCallId`; it goes back to that provider alone (C-2). */
  providerId?: string;
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

/** Matches the ids that a call may have here, in events, journals and the names of sub-agents' sessions. */
export const callIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Where a call stands: in a reply, or, for one that was given, in the message of this number. */
type CallPlace = { turn: number; attempt: number; index: number } | { message: number; index: number };

/**
 * Returns an id of nine letters and digits for a call, made from its place, that is not taken. Every known provider accepts
 * it: Mistral takes no other, Anthropic takes `A-Z a-z 0-9 _ -`, and OpenAI at most 64 characters.
 */
export function derivedCallId(place: CallPlace, isTaken: (id: string) => boolean): string {
  const [first, number] =
    'turn' in place
      ? ['c', place.turn * 36 ** 5 + place.attempt * 36 ** 3 + place.index]
      : ['g', place.message * 36 ** 3 + place.index];
  for (let step = 0; ; step += 1) {
    const id = `${first}${(number + step).toString(36).padStart(8, '0').slice(-8)}`;
    if (!isTaken(id)) return id;
  }
}

/** A call's id here, unique in the whole conversation, and the one its provider gave it if that is unique but other. */
export type CallIds = { callId: string; providerId?: string };

/**
 * Returns the ids of a call of a reply (C-2). An id that is missing, repeated or has other characters than ids have here is
 * replaced by one derived from turn, attempt and index. The id of a provider-executed call is the provider's own
 * reference, and never changes.
 */
export function uniqueCallId(
  { callId, providerExecuted }: { callId: string; providerExecuted: boolean },
  place: { turn: number; attempt: number; index: number },
  isTaken: (id: string) => boolean,
): CallIds {
  if (providerExecuted) return { callId };
  const isUnique = callId.trim() !== '' && !isTaken(callId);
  if (isUnique && callIdPattern.test(callId)) return { callId };
  return { callId: derivedCallId(place, isTaken), ...(isUnique && { providerId: callId }) };
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
