import { createUIMessageStreamResponse } from 'ai';
import { z } from 'zod';
import { eventLoopTurn } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { PawlError, reasonOf, unexpected } from '../input/errors.ts';
import { aFunction, hasMethods } from '../input/shapes.ts';
import type { SessionEvent } from '../observe/events.ts';
import { lazily } from '../platform/lazily.ts';
import { withKeepAlive } from '../serve/kept-open.ts';
import type { Session } from '../session/session.ts';
import { type CallReference, waitingOutput } from './call-reference.ts';
import { MaskedErrors, type OnError } from './masked-errors.ts';
import { Pause } from './pause.ts';
import { UIChunks } from './ui-chunks.ts';
import type { UIChunk } from './ui-message.ts';

/** What a page follows: a session, or the events of one that another process runs. */
export type Followed<Report = unknown> = Pick<Session<Report>, 'sessionId' | 'eventsFrom'>;

export type UIStreamOptions = {
  /**
   * The position up to which the page has the message (`metadata.seq`), for a message that was waiting for a decision.
   * Default: 0, the whole message, for a new page and one that was loaded again.
   */
  from?: number;
  /** The calls that have just been decided, whose decisions need not have arrived yet. */
  decided?: readonly CallReference[];
  /**
   * What a page shows of an error of a provider or a tool. Default: only that there was one, and the slugs of a session
   * that failed, since the text may say how the server is made (S-6f).
   */
  onError?: OnError;
};

/**
 * Returns a session as the AI SDK's stream of one UI message, whose id is the session's. It ends with the session, or
 * when nothing runs until a person has decided: then the next stream begins at the `seq` of the message's metadata. A
 * reader that disconnects does not stop the session. Throws `invalid_options`.
 */
export function toUIMessageStream<Report>(
  session: Followed<Report>,
  options: UIStreamOptions = {},
): ReadableStream<UIChunk<Report>> {
  checkFollowed(session, options, 'stream');
  const { from = 0 } = options;
  checkPosition(from);
  const events = session.eventsFrom(1)[Symbol.asyncIterator]();
  const chunks = chunksOf(session.sessionId, events, options);
  return new ReadableStream<UIChunk<Report>>({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as UIChunk<Report>);
    },
    // A reader that waits for an event would keep the generator from returning.
    cancel: async () => void (await events.return?.()),
  });
}

const streamShape = {
  from: z.unknown().optional(),
  decided: z.array(z.looseObject({ callId: z.string() }), { error: 'an array of calls' }).optional(),
  onError: aFunction.optional(),
} satisfies Record<keyof UIStreamOptions, z.ZodType>;
const anObject = { error: 'an object' };
const streamSchema = lazily(() => z.strictObject(streamShape, anObject));
/** What a response takes besides is for the SDK and the platform. */
const responseSchema = lazily(() => z.looseObject(streamShape, anObject));

/** Returns a response. Throws `invalid_options` for a status or headers that it cannot have. */
export function checkedResponse(make: () => Response): Response {
  try {
    return make();
  } catch (error) {
    throw new PawlError('invalid_options', `The response cannot be made: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Throws `invalid_options` unless `session` can be followed; for wrong options; and, for a stream, for unknown ones. */
export function checkFollowed(session: unknown, options: unknown, of: 'stream' | 'response'): void {
  check<unknown>(of === 'stream' ? streamSchema() : responseSchema(), options, 'options', 'invalid_options');
  if (hasMethods(session, 'eventsFrom')) return;
  throw unexpected('invalid_options', 'session', session, 'a session, or what `followSession` returns');
}

/** Throws `invalid_options` unless `from` is a valid position. */
export function checkPosition(from: unknown): void {
  if (typeof from === 'number' && Number.isInteger(from) && from >= 0) return;
  throw unexpected('invalid_options', 'from', from, 'a position: an integer of at least 0');
}

/** Returns `toUIMessageStream` as a response for `useChat`. `init` is as for `Response`. */
export function toUIMessageStreamResponse<Report>(
  session: Followed<Report>,
  options: UIStreamOptions & ResponseInit = {},
): Response {
  checkFollowed(session, options, 'response');
  const { from, decided, onError, ...init } = options;
  const stream = toUIMessageStream(session, {
    ...(from !== undefined && { from }),
    ...(decided !== undefined && { decided }),
    ...(onError !== undefined && { onError }),
  });
  return checkedResponse(() => {
    const response = createUIMessageStreamResponse({ ...init, stream });
    return response.body === null ? response : new Response(withKeepAlive(response.body), response);
  });
}

/** Takes in the events up to `from`, and from there on yields what they add to the message. */
export async function* chunksOf(
  sessionId: string,
  events: AsyncIterator<SessionEvent>,
  { from = 0, decided = [], onError }: UIStreamOptions,
): AsyncGenerator<UIChunk, void> {
  const ui = new UIChunks();
  const pause = new Pause(decided);
  const errors = new MaskedErrors(onError);
  let last: SessionEvent | null = null;
  let isBegun = false;
  const begin = function* (event: SessionEvent): Generator<UIChunk> {
    if (isBegun) return;
    isBegun = true;
    yield { type: 'start', messageId: sessionId, messageMetadata: ui.metadata(event) };
    // A page that left in the middle of an attempt has a part of its reply.
    if (from > 0) yield* ui.again();
  };
  for (;;) {
    const next = events.next();
    if (last !== null && last.seq >= from && pause.isOn && !(await isReady(next))) {
      yield* begin(last);
      yield* pause.subAgentCalls.map(waitingForDecision);
      yield { type: 'finish', finishReason: 'tool-calls', messageMetadata: ui.metadata(last, true) };
      await events.return?.();
      return;
    }
    const { value, done } = await next;
    if (done === true) break;
    const event = errors.masked(value);
    last = event;
    pause.takeEvent(event);
    if (event.seq > from) yield* begin(event);
    const chunks = await ui.takeEvent(event);
    if (event.seq <= from) continue;
    // What a page that leaves now has to the end. The SDK's client reads nothing after an error.
    const metadata: UIChunk = { type: 'message-metadata', messageMetadata: ui.metadata(event) };
    if (event.type === 'session.failed') yield metadata;
    yield* chunks;
    if (chunks.length > 0 && event.type !== 'model.delta' && event.type !== 'session.failed') yield metadata;
  }
  if (last === null) return;
  const metadata = ui.metadata(last);
  const finishReason = metadata.status === 'succeeded' ? 'stop' : metadata.status === 'failed' ? 'error' : 'other';
  yield* begin(last);
  yield { type: 'finish', finishReason, messageMetadata: metadata };
}

/** The SDK sends decisions once all calls of the step have an answer, and a sub-agent's call waits for the decision. */
function waitingForDecision(toolCallId: string): UIChunk {
  return { type: 'tool-output-available', toolCallId, output: waitingOutput };
}

/** Whether an event that has happened comes next. */
function isReady(next: Promise<unknown>): Promise<boolean> {
  return Promise.race([next.then(() => true), eventLoopTurn().then(() => false)]);
}
