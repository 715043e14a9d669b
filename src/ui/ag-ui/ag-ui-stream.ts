import type { SessionEvent } from '../../observe/events.ts';
import { checkFollowed, checkPosition, chunksOf, type Followed, type UIStreamOptions } from '../ui-message-stream.ts';
import { AgUiEvents } from './ag-ui-events.ts';
import type { AgUiEvent, AgUiRun } from './run.ts';

/**
 * Returns a session as a run of AG-UI 1.0: text, reasoning, calls and their results, the steps, sub-agents, and how it
 * ended. What a failed attempt said is taken back by a snapshot of the messages. A session that waits ends the run with an
 * interrupt for each call that a person or the client has to decide; if only client-side tools wait, with a success that
 * names them. `run` has the messages and the state of its client, of which `state.pawl` says where the next run continues.
 * A session that fails ends with RUN_ERROR, its slug as the `code`. Throws `invalid_options`.
 */
export function toAgUiStream(
  session: Followed,
  run: AgUiRun,
  options: UIStreamOptions = {},
): ReadableStream<AgUiEvent> {
  checkFollowed(session, options, 'stream');
  checkPosition(options.from ?? 0);
  const told = agUiEvents(session, run, options);
  return new ReadableStream<AgUiEvent>({
    async pull(controller) {
      const { value, done } = await told.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => told.leave(),
  });
}

/** The events of a run; `leave` ends them, also one that is awaited. */
export function agUiEvents(session: Followed, run: AgUiRun, options: UIStreamOptions) {
  const events = session.eventsFrom(1)[Symbol.asyncIterator]();
  const told = new AgUiEvents(session.sessionId, run);
  const noted: AgUiEvent[] = [];
  const heard: AsyncIterator<SessionEvent> = {
    next: async () => {
      const next = await events.next();
      if (next.done !== true) noted.push(...told.takeEvent(next.value));
      return next;
    },
    return: async () => (await events.return?.()) ?? { done: true, value: undefined },
  };
  async function* all(): AsyncGenerator<AgUiEvent, void> {
    for await (const chunk of chunksOf(session.sessionId, heard, options)) {
      yield* noted.splice(0);
      yield* told.take(chunk);
    }
  }
  const generated = all();
  return { next: () => generated.next(), leave: async () => void (await events.return?.()) };
}
