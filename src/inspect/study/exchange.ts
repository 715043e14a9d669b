import type { Fact, Message } from '../../../machines/index.ts';
import type { ShownRequest } from '../recorded/recording-data.ts';
import type { Row } from '../recorded/row-list.ts';
import type { Moment, ShownRecording } from '../recorded/shown-recording.ts';

type Of<T extends Fact['type']> = Extract<Fact, { type: T }>;

/** How a message of a request relates to the request before it, of the same session. */
export type MessageChange = 'kept' | 'new' | 'gone';

/** A request and what became of it, as far as that is known. */
export type Exchange = {
  turn: number;
  attempt: number;
  target: string;
  /** Its number among the session's requests, from 1. */
  number: number;
  /** Null before it was noted as sent. */
  request: ShownRequest | null;
  previous: ShownRequest | null;
  messages: { message: Message; change: MessageChange; isOmitted: boolean }[];
  /** The names of tools that this request offers and the one before did not, and the reverse. */
  tools: { names: string[]; added: string[]; removed: string[] };
  replied: Of<'attempt.replied'> | null;
  answers: Of<'tool.answered'>[];
  ended: Of<'attempt.failed' | 'attempt.finished' | 'attempt.progressed' | 'attempt.aborted'> | null;
  /** When it began and ended, in epoch ms; null before that. */
  at: number;
  endedAt: number | null;
  /** The number of the fact with the reply: a moment before it does not know the reply yet. */
  repliedTold: number | null;
};

/**
 * Returns the latest request of the session that moved, as a whole: also what became of it after the moment. Null before the
 * first.
 */
export function exchangeAt(recorded: ShownRecording, { told, scope }: Pick<Moment, 'told' | 'scope'>): Exchange | null {
  for (const { fact, told: begun } of recorded.factsBefore(told, scope)) {
    if (fact.type !== 'attempt.started') continue;
    const { turn, attempt, target } = fact;
    const own = recorded.requests.filter((one) => one.scope === scope);
    const number = own.findIndex((one) => one.turn === turn && one.attempt === attempt);
    const request = own[number] ?? null;
    const previous =
      number === -1 ? (own.findLast((one) => isBefore(one, turn, attempt)) ?? null) : (own[number - 1] ?? null);
    return {
      turn,
      attempt,
      target,
      number: recorded.countersAt(begun, scope).get('requests') ?? 0,
      request,
      previous,
      messages: request === null ? [] : changes(recorded, request, previous),
      tools: toolsOf(recorded, request, previous),
      at: recorded.told[begun - 1]?.at ?? 0,
      ...outcomeAfter(recorded, begun, scope),
    };
  }
  return null;
}

type Outcome = Pick<Exchange, 'replied' | 'repliedTold' | 'answers' | 'ended' | 'endedAt'>;

/** What became of the attempt that the fact of this number began. */
function outcomeAfter(recorded: ShownRecording, begun: number, scope: string): Outcome {
  const found: Outcome = { replied: null, repliedTold: null, answers: [], ended: null, endedAt: null };
  for (let number = begun; number < recorded.told.length; number += 1) {
    const one = recorded.told[number];
    if (one === undefined || one.scope !== scope || !('fact' in one)) continue;
    const { fact } = one;
    if (fact.type === 'attempt.started') break;
    if (fact.type === 'tool.answered') found.answers.push(fact);
    if (fact.type === 'attempt.replied') Object.assign(found, { replied: fact, repliedTold: number + 1 });
    if (!isEnd(fact)) continue;
    Object.assign(found, { ended: fact, endedAt: one.at });
    break;
  }
  found.answers.sort((one, other) => one.index - other.index);
  return found;
}

/** Returns the input of a call as the model sent it; null for one that its reply does not hold, such as one of a batch. */
export function callInput(recorded: ShownRecording, { scope, turn, attempt, callId }: Row): string | null {
  const { told } = recorded;
  const at = told.findLast((one) => {
    if (one.scope !== scope || !('fact' in one) || one.fact.type !== 'attempt.replied') return false;
    return one.fact.turn === turn && one.fact.attempt === attempt;
  });
  if (at === undefined || !('fact' in at) || at.fact.type !== 'attempt.replied') return null;
  const call = at.fact.reply?.content.find((part) => part.type === 'tool-call' && part.callId === callId);
  return call?.type === 'tool-call' ? call.input : null;
}

const ends: readonly Fact['type'][] = ['attempt.failed', 'attempt.finished', 'attempt.progressed', 'attempt.aborted'];

function isEnd(fact: Fact): fact is NonNullable<Exchange['ended']> {
  return ends.includes(fact.type);
}

function isBefore(one: ShownRequest, turn: number, attempt: number): boolean {
  return one.turn < turn || (one.turn === turn && one.attempt < attempt);
}

function changes(recorded: ShownRecording, request: ShownRequest, previous: ShownRequest | null): Exchange['messages'] {
  const now = recorded.messagesOf(request);
  const before = previous === null ? [] : recorded.messagesOf(previous);
  const same = now.findIndex((message, index) => message !== before[index]);
  const kept = same === -1 ? now.length : same;
  const omitted = new Set(request.omitted);
  const isOmitted = (message: Message) =>
    message.role === 'tool' && message.content.some(({ toolCallId }) => omitted.has(toolCallId));
  return [
    ...now.slice(0, kept).map((message) => ({ message, change: 'kept' as const, isOmitted: isOmitted(message) })),
    ...before.slice(kept).map((message) => ({ message, change: 'gone' as const, isOmitted: false })),
    ...now.slice(kept).map((message) => ({ message, change: 'new' as const, isOmitted: isOmitted(message) })),
  ];
}

function toolsOf(
  recorded: ShownRecording,
  request: ShownRequest | null,
  previous: ShownRequest | null,
): Exchange['tools'] {
  const namesOf = (one: ShownRequest | null) =>
    one === null ? [] : (recorded.tools[one.tools] ?? []).map(({ name }) => name);
  const names = namesOf(request);
  const before = namesOf(previous);
  return {
    names,
    added: previous === null ? [] : names.filter((name) => !before.includes(name)),
    removed: before.filter((name) => !names.includes(name)),
  };
}
