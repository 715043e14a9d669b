import {
  type AssistantMessage,
  callIdPattern,
  derivedCallId,
  historyName,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from './conversation.ts';
import { isBlank, standsAlone } from './reply.ts';

/** Counts of the repairs made to a caller's messages (C-6). */
export type Repairs = {
  /** Unanswered calls that received an answer (`interrupted`). */
  answered: number;
  /** Dropped answers that belong to no call. */
  orphansDropped: number;
  /** Dropped messages and parts without content, and dropped provider-executed calls without a result. */
  emptyDropped: number;
  /** Calls renamed, with their answer, because the id was missing, duplicate or not accepted by every provider. */
  renamed: number;
};

/**
 * Makes messages well formed (C-6). Each call is followed by its answer, in call order. Orphan and duplicate answers
 * and empty messages are dropped. Call ids become unique. A second repair changes nothing.
 */
export function repairConversation(messages: readonly Message[]): { messages: Message[]; repairs: Repairs } {
  const repairs: Repairs = { answered: 0, orphansDropped: 0, emptyDropped: 0, renamed: 0 };
  const answers = new Answers(messages);
  const taken = new Set<string>();
  const provided = providedIn(messages);
  // After a user message, the provider no longer continues its own.
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const repaired: Message[] = [];
  for (const [position, message] of messages.entries()) {
    if (message.role === 'tool') continue;
    if (message.role === 'user') {
      const content = message.content.filter((part) => part.type !== 'text' || part.text.trim() !== '');
      repairs.emptyDropped += message.content.length - content.length || (content.length === 0 ? 1 : 0);
      if (content.length > 0) repaired.push({ ...message, content });
      continue;
    }
    const content = withContent(message, provided, position > last);
    repairs.emptyDropped += message.content.length - content.length || (content.length === 0 ? 1 : 0);
    if (content.length === 0) continue;
    const results: ToolResultPart[] = [];
    const parts = content.map((part, index) => {
      if (part.type !== 'tool-call' || part.providerExecuted === true) return part;
      const call = uniquelyNamed(part, { message: position, index }, taken);
      if (call.toolCallId !== part.toolCallId) repairs.renamed += 1;
      const answer = answers.take(part.toolCallId, position);
      if (answer === null) repairs.answered += 1;
      results.push(answerTo(call, answer));
      return call;
    });
    repaired.push({ ...message, content: parts });
    if (results.length > 0) repaired.push({ role: 'tool', content: results });
  }
  repairs.orphansDropped = answers.left();
  return { messages: repaired, repairs };
}

/** What has one call id, in the order of the messages. The calls are asked for in that order too, so all is passed once. */
type OfId = {
  answers: { position: number; part: ToolResultPart }[];
  calls: number[];
  answersPassed: number;
  callsPassed: number;
};

/** The answers in the messages by call id; each can be taken once. */
class Answers {
  private readonly byId = new Map<string, OfId>();
  private count = 0;

  constructor(messages: readonly Message[]) {
    for (const [position, message] of messages.entries()) {
      if (message.role === 'user') continue;
      for (const part of message.content) {
        if (message.role === 'assistant' && part.type === 'tool-call') this.of(part.toolCallId).calls.push(position);
        if (message.role !== 'tool' || part.type !== 'tool-result') continue;
        this.of(part.toolCallId).answers.push({ position, part });
        this.count += 1;
      }
    }
  }

  private of(id: string): OfId {
    const known = this.byId.get(id) ?? { answers: [], calls: [], answersPassed: 0, callsPassed: 0 };
    this.byId.set(id, known);
    return known;
  }

  /** Takes the first answer to `id` after `position` and before the next call with that id, or returns null. */
  take(id: string, position: number): ToolResultPart | null {
    const own = this.of(id);
    while ((own.calls[own.callsPassed] ?? Number.POSITIVE_INFINITY) <= position) own.callsPassed += 1;
    while ((own.answers[own.answersPassed]?.position ?? Number.POSITIVE_INFINITY) <= position) own.answersPassed += 1;
    const answer = own.answers[own.answersPassed];
    const next = own.calls[own.callsPassed] ?? Number.POSITIVE_INFINITY;
    if (answer === undefined || answer.position >= next) return null;
    own.answersPassed += 1;
    this.count -= 1;
    return answer.part;
  }

  left(): number {
    return this.count;
  }
}

function uniquelyNamed(
  call: ToolCallPart,
  place: { message: number; index: number },
  taken: Set<string>,
): ToolCallPart {
  const isTaken = (id: string) => taken.has(id);
  const { toolCallId: given } = call;
  const isUnique = given.trim() !== '' && !isTaken(given);
  const isKept = isUnique && callIdPattern.test(given);
  const toolCallId = isKept ? given : derivedCallId(place, isTaken);
  taken.add(toolCallId).add(given);
  const named = { ...call, toolCallId, toolName: historyName(call.toolName) };
  return isUnique && !isKept ? { ...named, providerId: given } : named;
}

function answerTo(call: ToolCallPart, answer: ToolResultPart | null): ToolResultPart {
  const { toolCallId, toolName } = call;
  if (answer !== null) return { ...answer, toolCallId, toolName };
  const value = 'This call was interrupted; it may have been executed.';
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value } };
}

type Provided = { calls: ReadonlySet<string>; results: ReadonlySet<string> };

/** Returns the ids of the provider-executed calls and of their results, which may come in a later message. */
function providedIn(messages: readonly Message[]): Provided {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return {
    calls: new Set(
      parts.flatMap((part) => (part.type === 'tool-call' && part.providerExecuted ? [part.toolCallId] : [])),
    ),
    results: new Set(parts.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))),
  };
}

/**
 * Returns the parts to send: no blank text, no lone companions, and no provider-executed calls without
 * a result, unless a message that no user's follows awaits it.
 */
function withContent(
  message: AssistantMessage,
  { calls, results }: Provided,
  isAfterUser: boolean,
): AssistantMessage['content'] {
  const content = message.content.filter((part) => {
    if (part.type === 'tool-result') return calls.has(part.toolCallId);
    if (part.type !== 'tool-call' || part.providerExecuted !== true) return !isBlank(part);
    return results.has(part.toolCallId) || (isAfterUser && message.open === true);
  });
  return content.some(standsAlone) ? content : [];
}
