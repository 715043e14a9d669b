import { utf8Bytes } from '../platform/bytes.ts';
import { withKeepAlive } from './kept-open.ts';

/** One server-sent event. `data` is sent as JSON, but for a text in `raw`. */
export type SentEvent = { id?: number; event?: string } & ({ data: unknown } | { raw: string });

function written({ id, event, ...one }: SentEvent): Uint8Array {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return utf8Bytes(`${head}data: ${'raw' in one ? one.raw : JSON.stringify(one.data)}\n\n`);
}

/** Returns a response of server-sent events. The stream is kept open through proxies, and no proxy may buffer it. */
function responseOf(events: ReadableStream<Uint8Array>, { headers, ...init }: ResponseInit = {}): Response {
  const own = new Headers(headers);
  own.set('content-type', 'text/event-stream; charset=utf-8');
  own.set('cache-control', 'no-cache');
  own.set('x-accel-buffering', 'no');
  return new Response(withKeepAlive(events), { ...init, headers: own });
}

/** Answers with the events of an iterator, each when the reader is ready for it. */
export function pulledEvents(events: AsyncIterator<SentEvent>, init: ResponseInit = {}): Response {
  return responseOf(
    new ReadableStream({
      async pull(controller) {
        const { value, done } = await events.next();
        if (done === true) controller.close();
        else controller.enqueue(written(value));
      },
      cancel: async () => void (await events.return?.()),
    }),
    init,
  );
}

/** The writing end of a stream of events. Once the reader has gone, nothing is sent. */
export type EventWriter = {
  readonly isOpen: boolean;
  send(event: SentEvent): void;
  end(): void;
  /** Breaks the stream. */
  fail(error: unknown): void;
  /** Called once when the reader has gone or the stream has ended. */
  onClose(closed: () => void): void;
};

/**
 * Answers with the events that are sent, as they come. A reader for whom more than `mostWaiting` bytes wait is
 * disconnected, and has to come back for the rest; by default, they wait.
 */
export function pushedEvents(begin: (writer: EventWriter) => void, mostWaiting = Number.POSITIVE_INFINITY): Response {
  let isOpen = true;
  let closed = () => {};
  const close = () => {
    isOpen = false;
    closed();
    closed = () => {};
  };
  const strategy = { highWaterMark: mostWaiting, size: ({ byteLength }: Uint8Array) => byteLength };
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const finish = (act: () => void) => {
          if (!isOpen) return;
          act();
          close();
        };
        begin({
          get isOpen() {
            return isOpen;
          },
          send: (event) => {
            if ((controller.desiredSize ?? 0) < 0) finish(() => controller.error(new Error('the reader fell behind')));
            else if (isOpen) controller.enqueue(written(event));
          },
          end: () => finish(() => controller.close()),
          fail: (error) => finish(() => controller.error(error)),
          onClose: (given) => {
            if (isOpen) closed = given;
            else given();
          },
        });
      },
      cancel: close,
    },
    strategy,
  );
  return responseOf(stream);
}
