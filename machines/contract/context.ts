/** The context guard (T-6): decides what the next request leaves out, so that it fits the model's context window. */

export type ContextWindow = {
  /** Size of the window, shared by a request and its reply; null if unknown. */
  windowTokens: number | null;
  /** Tokens reserved for the reply, but at most a quarter of the window. */
  reserveTokens: number;
};

/** A tool result in the conversation, of an estimated size. */
export type SizedResult = { callId: string; tokens: number };

/**
 * A size in tokens: counted by the provider, or estimated. `failed` is the size if the attempt fails, which says less.
 * `oldText` is the text of earlier messages that may be left out.
 */
export type Measured = { tokens: number; failed: number; counted: boolean; oldText: number };

/** The size of the next request, in tokens, and the tool results that it may leave out. */
export type RequestSize = {
  /** Tokens that the provider counted, in the last request and its reply. */
  counted: number;
  /** Estimated tokens of everything else, without `steering`. */
  estimated: number;
  /** Estimated tokens of the steering that no request holds yet. */
  steering: number;
  /** Results that the request holds and that the model has read, oldest first; counted as `text` is. */
  results: readonly SizedResult[];
  /** Results that the model has not read yet. */
  fresh: { results: readonly SizedResult[]; counted: boolean };
  /** Estimated tokens of old text that the request holds and that may be left out. */
  text: { tokens: number; counted: boolean };
  /** Ids of the calls whose results are left out. */
  omitted: string[];
  /** Estimated tokens of old text that is left out, from the oldest on. */
  omittedText: number;
};

/** `full`: the request is not sent, since it would not fit even without any results. */
export type ContextVerdict = { kind: 'fits' | 'final_turn_now' | 'full' } & LeftOut;

/** What a request leaves out more than the one before: results, by call id, and estimated tokens of old text. */
export type LeftOut = { omit: string[]; omitText: number };

export const emptySize: RequestSize = {
  counted: 0,
  estimated: 0,
  steering: 0,
  results: [],
  fresh: { results: [], counted: false },
  text: { tokens: 0, counted: false },
  omitted: [],
  omittedText: 0,
};

/** How far an estimate may be off, either way. */
const estimateError = 0.25;

/** Tokens of the stub in place of a result, at most. */
export const stubTokens = 80;

/** Omission frees this share of the room, so that the next turns keep the cached prefix. */
const shareFreed = 0.25;

/** With less than this share of the room left, the next turn is the last. */
const shareOfLastTurn = 0.1;

/** Estimates the tokens of a text, at four UTF-8 bytes each. */
export function estimateTokens(text: string): number {
  return Math.ceil(utf8Length(text) / 4);
}

/** Returns how many bytes a text has in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // A surrogate pair has two units and four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** Returns the most tokens that a request may have: the window without the room for the reply. */
export function roomOf({ windowTokens, reserveTokens }: ContextWindow): number {
  if (windowTokens === null) return Number.POSITIVE_INFINITY;
  return Math.max(1, windowTokens - Math.min(reserveTokens, Math.floor(windowTokens / 4)));
}

/** Returns the most tokens that the request can have, whatever the error of the estimates. */
export function mostTokens({ counted, estimated, steering }: RequestSize): number {
  return Math.ceil(counted + (estimated + steering) * (1 + estimateError));
}

/**
 * Decides whether the next request fits, with a notice of `noticeTokens`, and what it leaves out: old results first, from
 * the oldest; then old text, from the oldest; then fresh results, from the largest.
 */
export function guardContext(window: ContextWindow, size: RequestSize, noticeTokens = 0): ContextVerdict {
  if (window.windowTokens === null) return { kind: 'fits', omit: [], omitText: 0 };
  const room = roomOf(window) - Math.ceil(noticeTokens * (1 + estimateError));
  let tokens = mostTokens(size);
  // The results of a long session are not looked at while there is room.
  if (tokens <= room * (1 - shareOfLastTurn)) return { kind: 'fits', omit: [], omitText: 0 };
  const old = freeing(size.results, size.text);
  const fresh = freeing(size.fresh.results, size.fresh).sort((one, other) => other.tokens - one.tokens);
  const share = shareOf(size.text);
  const least = [...old, ...fresh].reduce(
    (left, { frees }) => left - frees,
    tokens - Math.floor(size.text.tokens * share),
  );
  const omit: string[] = [];
  let omitText = 0;
  const leaveOut = (results: readonly Freeing[], limit: number) => {
    for (const { callId, frees } of results) {
      if (tokens <= limit) return;
      tokens -= frees;
      omit.push(callId);
    }
  };
  if (tokens > room) leaveOut(old, room * (1 - shareFreed));
  if (tokens > room) {
    omitText = Math.min(size.text.tokens, Math.ceil((tokens - room * (1 - shareFreed)) / share));
    tokens -= Math.floor(omitText * share);
    leaveOut(fresh, room);
  }
  if (least > room) return { kind: 'full', omit, omitText };
  return { kind: least > room * (1 - shareOfLastTurn) ? 'final_turn_now' : 'fits', omit, omitText };
}

/** Returns how much of an estimate counts at least, of what a provider counted, or at most. */
function shareOf({ counted }: { counted: boolean }): number {
  return counted ? 1 - estimateError : 1 + estimateError;
}

/** A result that may be left out, and the tokens that this frees at least. */
type Freeing = SizedResult & { frees: number };

/** Returns the results that are larger than their stubs. */
function freeing(results: readonly SizedResult[], counted: { counted: boolean }): Freeing[] {
  const stub = stubTokens * (1 + estimateError);
  const share = shareOf(counted);
  return results.flatMap((result) => {
    const frees = Math.floor(result.tokens * share - stub);
    return frees > 0 ? [{ ...result, frees }] : [];
  });
}

/** Returns the size of a request that is sent: with all steering, and with stubs for what is left out. */
export function sent(size: RequestSize, { omit, omitText }: LeftOut): RequestSize {
  const whole = { ...size, estimated: size.estimated + size.steering, steering: 0 };
  if (omit.length === 0 && omitText === 0) return whole;
  const out = new Set(omit);
  const { text, fresh } = size;
  let counted = size.counted - (text.counted ? Math.floor(omitText * shareOf(text)) : 0);
  let estimated = whole.estimated - (text.counted ? 0 : omitText);
  const kept = (results: readonly SizedResult[], known: { counted: boolean }) =>
    results.filter(({ callId, tokens }) => {
      if (!out.has(callId)) return true;
      if (known.counted) counted -= Math.floor(tokens * shareOf(known));
      else estimated -= tokens;
      estimated += stubTokens;
      return false;
    });
  const results = kept(size.results, text);
  const freshLeft = { ...fresh, results: kept(fresh.results, fresh) };
  return {
    ...whole,
    ...{ counted: Math.max(0, counted), estimated: Math.max(0, estimated), results, fresh: freshLeft },
    text: { ...text, tokens: text.tokens - omitText },
    omitted: [...size.omitted, ...omit],
    omittedText: size.omittedText + omitText,
  };
}

/** Returns the size once steering has added a user's message. */
export function steered({ size }: { size: RequestSize }, { text }: { text: string }): { size: RequestSize } {
  return { size: { ...size, steering: size.steering + estimateTokens(text) } };
}

/** Returns the size after a request and its reply, which were measured, and the answers to its calls. */
export function afterAnswers(
  size: RequestSize,
  { tokens, counted, oldText }: Omit<Measured, 'failed'>,
  answers: readonly SizedResult[],
): RequestSize {
  const added = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  const sized = { counted: counted ? tokens : 0, estimated: added + (counted ? 0 : tokens) };
  const text = { tokens: oldText, counted };
  if (answers.length === 0) return { ...size, ...sized, fresh: { ...size.fresh, counted }, text };
  const results = [...size.results, ...size.fresh.results];
  return { ...size, ...sized, results, fresh: { results: answers, counted: false }, text };
}

/** Returns the size of the first request. No result in it is fresh. */
export function initialSize(tokens: number, results: readonly SizedResult[], oldText = 0): RequestSize {
  return { ...emptySize, estimated: tokens, results, text: { tokens: oldText, counted: false } };
}

/**
 * Returns the window of a target that refused a request of `tokens` as too long, in the guard's own tokens: by how much it
 * was too long as the target says, or by a quarter. It never grows.
 */
export function learntWindow(known: number | null, tokens: number, { limit, asked }: TooLong): number {
  const guess = limit !== null && tokens > limit ? limit : Math.floor(tokens * (1 - shareFreed));
  const learnt = limit !== null && asked !== null && asked > limit ? Math.floor((tokens * limit) / asked) : guess;
  return Math.max(1, Math.min(known ?? Number.POSITIVE_INFINITY, learnt));
}

/** The tokens of a request that was too long, and of the most that would have been accepted, as its target says. */
export type TooLong = { limit: number | null; asked: number | null };
