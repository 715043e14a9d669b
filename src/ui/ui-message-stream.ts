import { createUIMessageStreamResponse } from 'ai';
import { expected, PawlError } from '../errors.ts';
import { eventLoopTurn } from '../host/clock.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Session } from '../session/options.ts';
import type { CallReference } from './call-reference.ts';
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
};

/**
 * Returns a session as the AI SDK's stream of one UI message, whose id is the session's. It ends with the session, or
 * when nothing runs until a person has decided: then the next stream begins at the `seq` of the message's metadata. A
 * reader that goes away leaves the session running. Throws `invalid_options`.
 */
export function toUIMessageStream<Report>(
  session: Followed<Report>,
  options: UIStreamOptions = {},
): ReadableStream<UIChunk<Report>> {
  const { from = 0 } = options;
  if (!Number.isInteger(from) || from < 0)
    throw new PawlError('invalid_options', expected('from', from, 'a position: an integer of at least 0'));
  const chunks = chunksOf(session, options);
  return new ReadableStream<UIChunk<Report>>({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as UIChunk<Report>);
    },
    async cancel() {
      await chunks.return();
    },
  });
}

/** Returns `toUIMessageStream` as a response for `useChat`. `init` is as for `Response`. */
export function toUIMessageStreamResponse<Report>(
  session: Followed<Report>,
  { from, decided, ...init }: UIStreamOptions & ResponseInit = {},
): Response {
  const position = { ...(from !== undefined && { from }), ...(decided !== undefined && { decided }) };
  return createUIMessageStreamResponse({ ...init, stream: toUIMessageStream(session, position) });
}

/** Takes in the events up to `from`, and from there on yields what they add to the message. */
async function* chunksOf(
  session: Followed,
  { from = 0, decided = [] }: UIStreamOptions,
): AsyncGenerator<UIChunk, void> {
  const ui = new UIChunks();
  const pause = new Pause(decided);
  const events = session.eventsFrom(1)[Symbol.asyncIterator]();
  let last: SessionEvent | null = null;
  let isBegun = false;
  for (;;) {
    const next = events.next();
    if (last !== null && isBegun && pause.isOn && !(await isReady(next))) {
      yield { type: 'finish', finishReason: 'tool-calls', messageMetadata: ui.metadata(last, true) };
      void events.return?.();
      return;
    }
    const { value: event, done } = await next;
    if (done === true) break;
    last = event;
    pause.take(event, event.seq <= from);
    const chunks = await ui.take(event);
    if (event.seq <= from) continue;
    if (!isBegun) yield { type: 'start', messageId: session.sessionId, messageMetadata: ui.metadata(event) };
    isBegun = true;
    yield* chunks;
  }
  if (last === null) return;
  const metadata = ui.metadata(last);
  const finishReason = metadata.status === 'succeeded' ? 'stop' : metadata.status === 'failed' ? 'error' : 'other';
  yield { type: 'finish', finishReason, messageMetadata: metadata };
}

/** Whether an event that has happened comes next. */
function isReady(next: Promise<unknown>): Promise<boolean> {
  return Promise.race([next.then(() => true), eventLoopTurn().then(() => false)]);
}
