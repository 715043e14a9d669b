import type { SessionEvent } from '../observe/events.ts';
import { pushedEvents } from '../serve/event-stream.ts';
import type { SessionResult } from '../session/session.ts';

/** How one of the APIs presents a session. */
export type Answering = {
  begin(): object[];
  events(event: SessionEvent): object[];
  /** The end, whether the session succeeded or not. */
  end(result: SessionResult): object[];
  /** The whole answer of a session that succeeded, for a request without a stream. */
  whole(result: SessionResult): object;
  /** The whole answer of a session that did not succeed. */
  failed(result: SessionResult): object;
  /** The last line of a stream, if it has one. */
  readonly last: string | null;
};

/** A session that runs for a request. */
export type AskedSession = {
  result: Promise<SessionResult>;
  /** Called with each event from now on. */
  listen(heard: (event: SessionEvent) => void): void;
  /** The client has gone. */
  vanish(): void;
};

/** Answers a request once the session has ended: with 422 if it failed. */
export async function answeredWhole({ result }: AskedSession, answering: Answering): Promise<Response> {
  const ended = await result;
  return ended.success
    ? Response.json(answering.whole(ended))
    : Response.json(answering.failed(ended), { status: 422 });
}

/** Answers a request with server-sent events, as they come. */
export function answeredInPieces({ result, listen, vanish }: AskedSession, answering: Answering): Response {
  return pushedEvents((writer) => {
    const send = (pieces: object[]) => {
      for (const data of pieces) writer.send({ ...('type' in data && { event: String(data.type) }), data });
    };
    let hasEnded = false;
    writer.onClose(() => {
      if (!hasEnded) vanish();
    });
    send(answering.begin());
    listen((event) => {
      if (!hasEnded) send(answering.events(event));
    });
    const finish = (ended: SessionResult) => {
      hasEnded = true;
      send(answering.end(ended));
      if (answering.last !== null) writer.send({ raw: answering.last });
      writer.end();
    };
    // A session's result never rejects (F-5), so what does is a defect, which breaks the stream.
    result.then(finish).catch(writer.fail);
  });
}
