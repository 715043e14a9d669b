import { systemClock } from '../host/clock.ts';
import { utf8Bytes } from '../platform/bytes.ts';

/** How long nothing may come before a comment does, in ms: proxies close connections on which nothing comes. */
const quietMs = 15_000;

/** Returns a stream of server-sent events with a comment wherever nothing came for 15 s. */
export function withKeepAlive(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = events.getReader();
  let next: ReturnType<typeof reader.read> | null = null;
  return new ReadableStream({
    async pull(controller) {
      next ??= reader.read();
      const quiet = Promise.withResolvers<null>();
      const stop = systemClock.alarm(quietMs, () => quiet.resolve(null));
      const read = await Promise.race([next, quiet.promise]).finally(stop);
      if (read === null) return controller.enqueue(utf8Bytes(': working\n\n'));
      next = null;
      if (read.done) controller.close();
      else controller.enqueue(read.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
