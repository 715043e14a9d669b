import { sleep, systemClock } from '../host/clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { SessionEvent } from '../observe/events.ts';
import { readSession } from '../session/recovery/replay-session.ts';
import type { Followed } from './ui-message-stream.ts';

/** How often the journal is read, in ms. */
const pollMs = 250;

/**
 * Follows a session that another process runs, through its journal, which it reads four times a second; `secrets` are
 * texts that no event may show (S-5). Rejects with `session_unknown`, or if the journal cannot be read.
 */
export async function followSession(
  journal: Journal,
  sessionId: string,
  { secrets = [] }: { secrets?: readonly string[] } = {},
): Promise<Followed> {
  await readSession(journal, sessionId, { secrets });
  async function* eventsFrom(seq: number): AsyncGenerator<SessionEvent, void> {
    for (let next = seq; ; ) {
      const { status, events } = await readSession(journal, sessionId, { secrets });
      for (const event of events) {
        if (event.seq < next) continue;
        next = event.seq + 1;
        yield event;
      }
      if (['succeeded', 'failed', 'aborted', 'suspended'].includes(status)) return;
      await sleep(systemClock, pollMs);
    }
  }
  return { sessionId, eventsFrom };
}
