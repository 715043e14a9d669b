import { pulledEvents, type SentEvent } from '../serve/event-stream.ts';
import { MaskedErrors } from './masked-errors.ts';
import {
  checkedResponse,
  checkFollowed,
  checkPosition,
  type Followed,
  type UIStreamOptions,
} from './ui-message-stream.ts';

/**
 * Returns a session's events as server-sent events, for pages without the AI SDK. `event` is the event's type, `data` is
 * the event as JSON, and `id` is its position, which an `EventSource` that reconnects sends as `Last-Event-ID` (see
 * `lastEventId`). Error texts are masked as on any page (`onError`). A reader that disconnects does not stop the session. Throws `invalid_options`.
 */
export function toEventStreamResponse(
  session: Followed,
  options: Pick<UIStreamOptions, 'from' | 'onError'> & ResponseInit = {},
): Response {
  checkFollowed(session, options, 'response');
  const { from = 0, onError, ...init } = options;
  checkPosition(from);
  const errors = new MaskedErrors(onError);
  let events = session.eventsFrom(1)[Symbol.asyncIterator]();
  let isThere = false;
  /** The events up to the position may say which answers are the page's own. */
  const arrive = async () => {
    for (let seq = 0; seq < from; ) {
      const { value, done } = await events.next();
      if (done === true) break;
      errors.masked(value);
      seq = value.seq;
    }
    await events.return?.();
    events = session.eventsFrom(from + 1)[Symbol.asyncIterator]();
    isThere = true;
  };
  const sent: AsyncIterator<SentEvent> = {
    next: async () => {
      if (!isThere) await arrive();
      const { value, done } = await events.next();
      return done === true
        ? { done, value: undefined }
        : { done: false, value: { id: value.seq, event: value.type, data: errors.masked(value) } };
    },
    return: async () => {
      await events.return?.();
      return { done: true, value: undefined };
    },
  };
  return checkedResponse(() => pulledEvents(sent, init));
}

/** Returns the position that an `EventSource` which reconnects has seen; 0 for one that connects. */
export function lastEventId(request: Request): number {
  const seq = Number(request.headers.get('last-event-id') ?? 0);
  return Number.isInteger(seq) && seq > 0 ? seq : 0;
}
