import type { Agent } from '../agent/definition.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { ResumeOptions, SessionOptions } from '../session/options.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import type { Session, SessionResult } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';

export const defaultMaxSessions = 16;

/** The options of every session that a server runs. */
export type ServedSessions = Pick<
  SessionOptions,
  'logger' | 'budget' | 'onEvent' | 'telemetry' | 'context' | 'metadata'
> & {
  /** Sessions at once, for all clients together. */
  maxSessions?: number;
};

/** As many sessions run as may run at once. */
export class TooManySessions extends Error {
  override readonly name = 'TooManySessions';

  constructor(maxSessions: number) {
    super(`the server already runs ${maxSessions} sessions, its limit (maxSessions); try again later`);
  }
}

/** The sessions that a server runs, for all clients together. */
export class ServerSessions {
  private readonly options: ServedSessions;
  private readonly running = new Set<Promise<unknown>>();

  constructor(options: ServedSessions) {
    this.options = options;
  }

  get isFull(): boolean {
    return this.running.size >= (this.options.maxSessions ?? defaultMaxSessions);
  }

  /** Throws `TooManySessions` if no more may run. `heard` gets the events, and the session for its commands. */
  start(
    agent: Agent,
    input: Pick<SessionOptions, 'prompt' | 'messages' | 'signal' | 'context' | 'metadata' | 'journal' | 'sessionId'>,
    heard: (event: SessionEvent, session: Session) => void,
  ): Promise<SessionResult> {
    const { maxSessions = defaultMaxSessions, onEvent, ...options } = this.options;
    if (this.isFull) throw new TooManySessions(maxSessions);
    let started: Session | null = null;
    const session = startSession(agent, {
      ...options,
      ...input,
      onEvent: (event, own) => {
        // The first event comes while the session starts.
        if (started !== null) heard(event, started);
        return onEvent?.(event, own);
      },
    });
    started = session;
    this.running.add(session.result);
    return session.result.finally(() => this.running.delete(session.result));
  }

  /** Resumes a session that a journal holds, with the same observers (see `resumeSession`); one that has ended gives its result. */
  async resume(agent: Agent, given: Pick<ResumeOptions, 'journal' | 'sessionId'>): Promise<Session> {
    const { maxSessions: _, budget: __, metadata: ___, ...options } = this.options;
    const session = await resumeSession<unknown, unknown>(agent, { context: undefined, ...options, ...given });
    this.running.add(session.result);
    void session.result.finally(() => this.running.delete(session.result));
    return session;
  }

  async ended(): Promise<void> {
    await Promise.all(this.running);
  }
}
