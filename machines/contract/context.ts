/** The context guard (T-6): decides what the next request leaves out, so that it fits the model's context window. */

export type ContextWindow = {
  /** Size of the window, shared by a request and its reply; null if unknown. */
  windowTokens: number | null;
  /** Tokens reserved for the reply. */
  reserveTokens: number;
};

/** A tool result in the conversation, of an estimated size. */
export type SizedResult = { callId: string; tokens: number };

/** A size in tokens: counted by the provider, or estimated. `failed` is the size if the attempt fails, which says less. */
export type Measured = { tokens: number; failed: number; counted: boolean };

/** The size of the next request, in tokens, and the tool results that it may leave out. */
export type RequestSize = {
  /** Tokens that the provider counted, in the last request and its reply. */
  counted: number;
  /** Estimated tokens of everything else, without `steering`. */
  estimated: number;
  /** Estimated tokens of the steering that no request holds yet. */
  steering: number;
  /** Results that the request holds, oldest first. `fresh`: the model has not read it yet. */
  results: (SizedResult & { counted: boolean; fresh: boolean })[];
  /** Ids of the calls whose results are left out. */
  omitted: string[];
};

/** `full`: the request is not sent, since it would not fit even without any results. */
export type ContextVerdict = { kind: 'fits' | 'final_turn_now' | 'full'; omit: string[] };

export const emptySize: RequestSize = { counted: 0, estimated: 0, steering: 0, results: [], omitted: [] };

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
  return windowTokens === null ? Number.POSITIVE_INFINITY : Math.max(1, windowTokens - reserveTokens);
}

/** Returns the most tokens that the request can have, whatever the error of the estimates. */
export function mostTokens({ counted, estimated, steering }: RequestSize): number {
  return Math.ceil(counted + (estimated + steering) * (1 + estimateError));
}

/**
 * Decides whether the next request fits, with a notice of `noticeTokens`, and which results it leaves out: old ones
 * first, from the oldest; then fresh ones, from the largest.
 */
export function guardContext(window: ContextWindow, size: RequestSize, noticeTokens = 0): ContextVerdict {
  if (window.windowTokens === null) return { kind: 'fits', omit: [] };
  const room = roomOf(window) - Math.ceil(noticeTokens * (1 + estimateError));
  const candidates = size.results.filter((result) => freed(result) > 0);
  const old = candidates.filter(({ fresh }) => !fresh);
  const fresh = candidates.filter((result) => result.fresh).sort((one, other) => other.tokens - one.tokens);
  let tokens = mostTokens(size);
  const least = candidates.reduce((left, result) => left - freed(result), tokens);
  const omit: string[] = [];
  const leaveOut = (results: RequestSize['results'], limit: number) => {
    for (const result of results) {
      if (tokens <= limit) return;
      tokens -= freed(result);
      omit.push(result.callId);
    }
  };
  if (tokens > room) {
    leaveOut(old, room * (1 - shareFreed));
    leaveOut(fresh, room);
  }
  if (least > room) return { kind: 'full', omit };
  return { kind: least > room * (1 - shareOfLastTurn) ? 'final_turn_now' : 'fits', omit };
}

/** Returns the tokens that leaving a result out frees at least. */
function freed({ tokens, counted }: RequestSize['results'][number]): number {
  const stub = stubTokens * (1 + estimateError);
  return Math.floor(tokens * (counted ? 1 - estimateError : 1 + estimateError) - stub);
}

/** Returns the size of a request that is sent: with all steering, and with a stub for each result of `omit`. */
export function sent(size: RequestSize, omit: readonly string[]): RequestSize {
  const out = new Set(omit);
  let { counted } = size;
  let estimated = size.estimated + size.steering;
  for (const result of size.results) {
    if (!out.has(result.callId)) continue;
    if (result.counted) counted -= Math.floor(result.tokens * (1 - estimateError));
    else estimated -= result.tokens;
    estimated += stubTokens;
  }
  const results = size.results.filter(({ callId }) => !out.has(callId));
  return { counted, estimated, steering: 0, results, omitted: [...size.omitted, ...omit] };
}

/** Returns the size once steering has added a user's message. */
export function steered(
  { window, size }: { window: ContextWindow; size: RequestSize },
  { text }: { text: string },
): { size: RequestSize } {
  if (window.windowTokens === null) return { size };
  return { size: { ...size, steering: size.steering + estimateTokens(text) } };
}

/** Returns the size after a request and its reply, which were measured, and the answers to its calls. */
export function afterAnswers(
  size: RequestSize,
  { tokens, counted }: Pick<Measured, 'tokens' | 'counted'>,
  answers: readonly SizedResult[],
): RequestSize {
  const known = size.results.map((result) => ({ ...result, counted, fresh: answers.length === 0 && result.fresh }));
  const results = [...known, ...answers.map((answer) => ({ ...answer, counted: false, fresh: true }))];
  const added = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  return { ...size, counted: counted ? tokens : 0, estimated: added + (counted ? 0 : tokens), results };
}

/** Returns the size of the first request. No result in it is fresh. */
export function initialSize(tokens: number, results: readonly SizedResult[]): RequestSize {
  const old = results.map((result) => ({ ...result, counted: false, fresh: false }));
  return { ...emptySize, estimated: tokens, results: old };
}
