import { z } from 'zod';
import { type Agent, anAgent } from '../../agent/definition.ts';
import { eventLoop } from '../../host/event-loop.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { aFunction } from '../../input/shapes.ts';
import { aJournal } from '../../journal/given.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import { lazily } from '../../platform/lazily.ts';
import { commonOptions } from '../common-options.ts';
import { modelRenames } from '../input.ts';
import type { ResumeOptions } from '../options.ts';
import type { Session } from '../session.ts';
import { resumeSession } from './resume-session.ts';

export const agentsSchema = lazily(() => z.object({ agents: z.array(anAgent, { error: 'an array of agents' }) }));

export type ResumeAllOptions = Omit<ResumeOptions, 'sessionId' | 'signal' | 'context'> & {
  journal: Journal;
  /** Returns a session's `context`, which its journal does not hold. */
  context?: (session: JournaledSession) => unknown;
};

const { signal: _, ...ofSessions } = commonOptions;
const optionsSchema = lazily(() =>
  z.strictObject({
    journal: aJournal,
    context: aFunction.optional(),
    onDelivery: aFunction.optional(),
    renamedModels: modelRenames.optional(),
    ...ofSessions,
  } satisfies Record<keyof ResumeAllOptions, z.ZodType>),
);

/** A session that could not be resumed. It stays as it was. */
export type RefusedSession = { sessionId: string; error: unknown };

/**
 * Resumes every session of these agents that no process runs, for a process that starts. Sessions that another process
 * takes meanwhile are its own. Resolves when all go on, or were refused; `running` are the ids of those that a process runs,
 * or whose process died less than a lease ago: once `journal.leaseMs` is over, another call resumes these. Rejects with
 * `invalid_options`, also for two agents with the same name.
 */
export async function resumeAll(
  agents: readonly Agent[],
  options: ResumeAllOptions,
): Promise<{ sessions: Session[]; refused: RefusedSession[]; running: string[] }> {
  check(agentsSchema(), { agents }, '', 'invalid_options');
  check(optionsSchema(), options, 'options', 'invalid_options');
  const named = byName(agents);
  const sessions: Session[] = [];
  const refused: RefusedSession[] = [];
  const { context: contextOf, ...given } = options;
  const listed = async (status: 'running' | 'suspended') =>
    (await options.journal.list({ status })).filter(({ agent }) => named.has(agent));
  const running = (await listed('running')).map(({ sessionId }) => sessionId);
  for (const session of await listed('suspended')) {
    const { sessionId } = session;
    const agent = named.get(session.agent);
    if (agent === undefined) continue;
    if (eventLoop.isDue) await eventLoop.turn();
    try {
      sessions.push(await resumeSession(agent, { ...given, sessionId, context: contextOf?.(session) }));
    } catch (error) {
      if (!(error instanceof PawlError && error.code === 'session_taken')) refused.push({ sessionId, error });
    }
  }
  return { sessions, refused, running };
}

/** Returns the agents by their names. Throws `invalid_options` for two with the same name. */
export function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const named = new Map<string, Agent>();
  for (const agent of agents) {
    if ((named.get(agent.name) ?? agent) !== agent)
      throw new PawlError('invalid_options', `\`agents\` must have different names; two are named ${agent.name}.`);
    named.set(agent.name, agent);
  }
  return named;
}
