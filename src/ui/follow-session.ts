import { noteSecrets } from '../agent/secrets.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { PawlError, unexpected } from '../input/errors.ts';
import { hasMethods } from '../input/shapes.ts';
import type { Journal } from '../journal/journal.ts';
import type { SessionEvent } from '../observe/events.ts';
import { restOf } from '../observe/stream/event-stream.ts';
import { position } from '../session/commands.ts';
import { GrowingRecording } from '../session/replay/growing-recording.ts';
import { checkReading } from '../session/replay/replay-session.ts';
import type { Followed } from './ui-message-stream.ts';

export type FollowOptions = { secrets?: readonly string[]; suspended?: (() => Promise<Followed>) | null };

/** How often the journal is read, in ms. */
const pollMs = 250;

/**
 * Follows a session that another process runs, through its journal, which it reads four times a second; `secrets` are
 * texts that no event may show (S-5). When that process has suspended the session or died, the events go on as those of
 * what `suspended` returns, or end. Rejects with `session_unknown`, or if the journal cannot be read.
 */
export async function followSession(journal: Journal, sessionId: string, given: FollowOptions = {}): Promise<Followed> {
  const { suspended = null, ...options } = given ?? {};
  if (suspended !== null && typeof suspended !== 'function')
    throw unexpected('invalid_options', 'options.suspended', suspended, 'a function');
  const { secrets } = checkReading(journal, sessionId, given && options);
  noteSecrets(secrets);
  const session = await GrowingRecording.of(journal, sessionId, secrets);
  await session.events();
  async function* read(seq: number, signal: AbortSignal): AsyncGenerator<SessionEvent, void> {
    let next = seq;
    for (let read = -1; ; ) {
      const [row] = await journal.list({ sessionId });
      const isOver = row?.status !== 'running';
      if (row !== undefined && row.entries !== read) {
        read = row.entries;
        const events = await session.events(read);
        for (const [index, event] of events.entries()) {
          if (event.seq < next) continue;
          // A text may have grown since the journal was last read.
          yield restOf(event, next, (events[index - 1]?.seq ?? 0) + 1);
          next = event.seq + 1;
        }
      }
      if (signal.aborted) return;
      if (row?.status === 'suspended' && suspended !== null) {
        const followed: unknown = await suspended();
        if (!hasMethods(followed, 'eventsFrom'))
          throw new PawlError('invalid_options', 'What `options.suspended` returns must be a session.');
        yield* untilAborted((followed as Followed).eventsFrom(next), signal);
        return;
      }
      if (isOver) return;
      await sleep(systemClock, pollMs, signal);
      if (signal.aborted) return;
    }
  }
  return {
    sessionId,
    eventsFrom: (seq) => {
      const from = position(seq);
      return {
        [Symbol.asyncIterator]: () => {
          const left = new AbortController();
          const events = read(from, left.signal);
          return {
            next: async () => (left.signal.aborted ? { done: true, value: undefined } : events.next()),
            return: async () => {
              left.abort();
              return { done: true, value: undefined };
            },
          };
        },
      };
    },
  };
}

/** Leaves the events, also one that is awaited, when the reader does. */
async function* untilAborted(
  events: AsyncIterable<SessionEvent>,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent, void> {
  const iterator = events[Symbol.asyncIterator]();
  const leave = () => void iterator.return?.();
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    for (let one = await iterator.next(); one.done !== true; one = await iterator.next()) yield one.value;
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}
