import { type Message, type UserMessage, userMessage } from '../../machines/index.ts';

/** Positions in a conversation: each from its first number to before its second. */
export type Ranges = [from: number, to: number][];

/** A conversation that may be compacted (T-9). */
export type Compactable = {
  readonly messages: readonly Message[];
  /** The position of the prompt. */
  readonly prompt: number;
  /** Estimated tokens of each answer, by its call. */
  readonly answerTokens: ReadonlyMap<string, number>;
  /** The number of messages that the session was given. */
  readonly given: number;
  /** Where the turns begin: those of the session, and before them the messages of a user that it was given. */
  readonly turnStarts: readonly number[];
};

/** A message and the answers that follow it. */
type Exchange = { from: number; to: number; isKept: boolean };

/**
 * Returns the messages that one may take the place of (T-9): whole exchanges before the last `keep` turns, but for the
 * prompt, what steering added, and what is pinned (`providerOptions: { pawl: { pinned: true } }`).
 */
export function compactable(source: Compactable, keep: number): Ranges {
  const { messages, turnStarts } = source;
  const end = turnStarts.at(-keep) ?? 0;
  const exchanges: Exchange[] = [];
  for (let at = 0; at < end; at += 1) {
    const message = messages[at];
    const last = exchanges.at(-1);
    if (message === undefined) break;
    const isKept = staysIn(source, message, at);
    if (message.role !== 'tool' || last === undefined) exchanges.push({ from: at, to: at + 1, isKept });
    else Object.assign(last, { to: at + 1, isKept: last.isKept || isKept });
  }
  keepTogether(messages, exchanges);
  const ranges: Ranges = [];
  for (const { from, to, isKept } of exchanges) {
    const last = ranges.at(-1);
    if (isKept) continue;
    if (last?.[1] === from) last[1] = to;
    else ranges.push([from, to]);
  }
  return ranges;
}

function staysIn({ prompt, given }: Compactable, message: Message, at: number): boolean {
  if (at === prompt || message.providerOptions?.pawl?.pinned === true) return true;
  if (message.role === 'user') return at >= given && message.providerOptions?.pawl?.compacted !== true;
  // Its provider continues from it.
  return message.role === 'assistant' && message.open === true;
}

/** A result that a provider gave in a later message stays with its call. */
function keepTogether(messages: readonly Message[], exchanges: readonly Exchange[]): void {
  const called = new Map<string, number>();
  const pairs: [number, number][] = [];
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== 'assistant') continue;
    for (const part of content) {
      if (part.type === 'tool-call') called.set(part.toolCallId, at);
      const before = part.type === 'tool-result' ? called.get(part.toolCallId) : undefined;
      if (before !== undefined && before !== at) pairs.push([before, at]);
    }
  }
  const exchangeOf = (at: number) => exchanges.find(({ from, to }) => from <= at && at < to);
  // As often as one may keep the next.
  for (const _ of pairs) {
    for (const pair of pairs) {
      const two = pair.map(exchangeOf);
      if (two.every((one) => one !== undefined && !one.isKept)) continue;
      for (const one of two) if (one !== undefined) one.isKept = true;
    }
  }
}

/** Returns the message that stands for those that it took the place of; a later compaction may replace it. */
function compactedMessage(text: string): UserMessage {
  return { ...userMessage(text), providerOptions: { pawl: { compacted: true } } };
}

/** Returns a conversation in which one message takes the place of those of `ranges`, and what it took the place of. */
export function compacted(source: Compactable, ranges: Ranges, text: string): Compactable & { replaced: Message[] } {
  const { messages, prompt, given, turnStarts, answerTokens } = source;
  const isReplaced = (at: number) => ranges.some(([from, to]) => from <= at && at < to);
  const end = ranges.at(-1)?.[1] ?? 0;
  const kept = messages.map((message, at) => ({ message, at })).filter(({ at }) => !isReplaced(at));
  const before = kept.filter(({ at }) => at < end);
  const after = kept.slice(before.length);
  // What stands at the end of what was replaced comes after the message.
  const moved = (at: number) => kept.filter((one) => one.at < at).length + (at >= end ? 1 : 0);
  const replaced = messages.filter((_, at) => isReplaced(at));
  const gone = new Set(
    replaced.flatMap(({ role, content }) => (role === 'tool' ? content.map(({ toolCallId }) => toolCallId) : [])),
  );
  return {
    messages: [...before.map(({ message }) => message), compactedMessage(text), ...after.map(({ message }) => message)],
    prompt: moved(prompt),
    given: given > end ? moved(given) : kept.filter(({ at }) => at < given).length,
    turnStarts: turnStarts.filter((at) => at >= end).map(moved),
    answerTokens: new Map([...answerTokens].filter(([callId]) => !gone.has(callId))),
    replaced,
  };
}
