import { withKeepAlive } from '../serve/kept-open.ts';
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
 * `lastEventId`). A reader that disconnects does not stop the session. Throws `invalid_options`.
 */
export function toEventStreamResponse(
  session: Followed,
  options: Pick<UIStreamOptions, 'from'> & ResponseInit = {},
): Response {
  checkFollowed(session, options, 'response');
  const { from = 0, headers, ...init } = options;
  checkPosition(from);
  const events = session.eventsFrom(from + 1)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await events.next();
      if (done === true) controller.close();
      else
        controller.enqueue(
          encoder.encode(`id: ${value.seq}\nevent: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`),
        );
    },
    async cancel() {
      await events.return?.();
    },
  });
  return checkedResponse(() => {
    const own = new Headers(headers);
    own.set('content-type', 'text/event-stream');
    own.set('cache-control', 'no-cache');
    // A proxy that buffers would hold the events back.
    own.set('x-accel-buffering', 'no');
    return new Response(withKeepAlive(body), { ...init, headers: own });
  });
}

/** Returns the position that an `EventSource` which reconnects has seen; 0 for one that connects. */
export function lastEventId(request: Request): number {
  const seq = Number(request.headers.get('last-event-id') ?? 0);
  return Number.isInteger(seq) && seq > 0 ? seq : 0;
}
