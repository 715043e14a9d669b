import { type Agent, isAgent } from '../../agent/definition.ts';
import { expected, PawlError } from '../../errors.ts';
import { checkJournal } from '../../journal/given.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import type { ResumeOptions } from '../options.ts';
import type { Session } from '../session.ts';
import { resumeSession } from './resume-session.ts';

export type ResumeAllOptions = Omit<ResumeOptions, 'sessionId' | 'signal' | 'context'> & {
  journal: Journal;
  /** Returns a session's `context`, which its journal does not hold. */
  context?: (session: JournaledSession) => unknown;
};

/** A session that could not be resumed. It stays as it was. */
export type RefusedSession = { sessionId: string; error: unknown };

/**
 * Resumes every session of these agents that no process runs, for a process that starts. Sessions that another process
 * takes meanwhile are its own. Resolves when all go on, or were refused. Rejects with `invalid_options`, also for two
 * agents of one name.
 */
export async function resumeAll(
  agents: readonly Agent[],
  options: ResumeAllOptions,
): Promise<{ sessions: Session[]; refused: RefusedSession[] }> {
  if (!Array.isArray(agents) || !agents.every(isAgent))
    throw new PawlError('invalid_options', expected('agents', agents, 'an array of agents made by defineAgent'));
  checkJournal(options?.journal);
  const twice = agents.find(({ name }, index) => agents.findIndex((one) => one.name === name) !== index);
  if (twice !== undefined)
    throw new PawlError(
      'invalid_options',
      `\`agents\` has two agents named ${twice.name}: a session is resumed by one.`,
    );
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const sessions: Session[] = [];
  const refused: RefusedSession[] = [];
  const { context: contextOf, ...given } = options;
  for (const session of await options.journal.list({ status: 'suspended' })) {
    const { sessionId } = session;
    const agent = named.get(session.agent);
    if (agent === undefined) continue;
    try {
      sessions.push(await resumeSession(agent, { ...given, sessionId, context: contextOf?.(session) }));
    } catch (error) {
      if (!(error instanceof PawlError && error.code === 'session_taken')) refused.push({ sessionId, error });
    }
  }
  return { sessions, refused };
}
