import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import { eventLoop } from '../../host/event-loop.ts';
import { PawlError } from '../../input/errors.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import { leftHere } from '../../journal/left-here.ts';
import type { ResumeOptions } from '../options.ts';
import type { Session } from '../session.ts';
import { dueOf } from './due.ts';
import { resumeSession } from './resume-session.ts';

export type ResumeAllOptions = Omit<ResumeOptions, 'sessionId' | 'signal' | 'context'> & {
  journal: Journal;
  /** Returns a session's `context`, which its journal does not hold. */
  context?: (session: JournaledSession) => unknown;
  /**
   * Looks again, every half of a lease, until `close` is called: for decisions and times that came, for sessions whose
   * process died, and for those that a journal which was away had suspended. What this process suspends meanwhile by
   * `suspend` stays suspended, unless a message arrives for it. A function is called after each pass that did something or failed.
   * The watch keeps the process alive. Default: false.
   */
  watch?: boolean | ((pass: ResumePass | { error: unknown }) => void);
};

/** What one look at a journal brought. */
export type ResumePass = {
  /** The sessions that were resumed. */
  sessions: Session[];
  refused: RefusedSession[];
  /** The ids of sessions that a process runs, or whose process died less than a lease ago. */
  running: string[];
  /** The ids of sessions that only wait, for people or for a later time. */
  waiting: string[];
};

/** A session that could not be resumed. It stays as it was. */
export type RefusedSession = { sessionId: string; error: unknown };

/** What is known of a session that was not resumed; it holds until something is written to the session, or a letter comes. */
type Left = { updatedAt: number; letter: number; dueAt: number; code: string | null };

/** Errors that stay until the session or the code changes; any other may pass. */
const lasting: ReadonlySet<string> = new Set(['agent_changed', 'machines_changed', 'invalid_journal']);

/** Looks at a journal for sessions that have something to do, again and again. */
export class Looking {
  private readonly named: ReadonlyMap<string, Agent>;
  private readonly options: ResumeAllOptions;
  private readonly left = new Map<string, Left>();
  /** What this process had suspended before. */
  private readonly before: ReadonlySet<string>;

  constructor(named: ReadonlyMap<string, Agent>, options: ResumeAllOptions) {
    this.named = named;
    this.options = options;
    this.before = new Set(leftHere(options.journal));
  }

  async look(): Promise<ResumePass> {
    const pass: ResumePass = { sessions: [], refused: [], running: [], waiting: [] };
    pass.running = (await this.listed('running')).map(({ sessionId }) => sessionId);
    for (const session of await this.listed('suspended')) {
      if (eventLoop.isDue) await eventLoop.turn();
      await this.lookAt(session, pass);
    }
    return pass;
  }

  private async listed(status: 'running' | 'suspended'): Promise<JournaledSession[]> {
    return (await this.options.journal.list({ status })).filter(({ agent }) => this.named.has(agent));
  }

  private async lookAt(session: JournaledSession, pass: ResumePass): Promise<void> {
    const { journal, clock = systemClock, watch: _, context: contextOf, ...given } = this.options;
    const { sessionId, updatedAt } = session;
    const agent = this.named.get(session.agent);
    if (agent === undefined) return;
    const letter = (await journal.inbox(sessionId)).at(-1)?.id ?? 0;
    const known = this.left.get(sessionId);
    const isSame = known !== undefined && known.updatedAt === updatedAt && known.letter === letter;
    if (isSame && known.code !== null && lasting.has(known.code)) return;
    // Whoever suspended it has asked for that.
    const isLeft = letter === 0 && leftHere(journal).has(sessionId) && !this.before.has(sessionId);
    const dueAt = isLeft ? Number.POSITIVE_INFINITY : await this.dueAt(agent, session, letter, isSame ? known : null);
    if (dueAt > clock.now()) {
      if (!isLeft) this.left.set(sessionId, { updatedAt, letter, dueAt, code: null });
      pass.waiting.push(sessionId);
      return;
    }
    try {
      const own = { ...given, journal, clock, sessionId, context: contextOf?.(session) };
      pass.sessions.push(await resumeSession(agent, own));
      this.left.delete(sessionId);
    } catch (error) {
      const code = error instanceof PawlError ? error.code : 'thrown';
      if (code === 'session_taken') return;
      if (!isSame || known.code !== code) pass.refused.push({ sessionId, error });
      this.left.set(sessionId, { updatedAt, letter, dueAt: 0, code });
    }
  }

  private async dueAt(
    agent: Agent,
    { sessionId }: JournaledSession,
    letter: number,
    known: Left | null,
  ): Promise<number> {
    if (known !== null) return known.dueAt;
    return letter > 0 ? 0 : dueOf(agent, await this.options.journal.read(sessionId));
  }
}
