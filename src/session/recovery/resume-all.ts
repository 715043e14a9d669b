import { z } from 'zod';
import { type Agent, anAgent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
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
import { dueOf } from './due.ts';
import { resumeSession } from './resume-session.ts';

export const agentsSchema = lazily(() => z.object({ agents: z.array(anAgent, { error: 'an array of agents' }) }));

export type ResumeAllOptions = Omit<ResumeOptions, 'sessionId' | 'signal' | 'context'> & {
  journal: Journal;
  /** Returns a session's `context`, which its journal does not hold. */
  context?: (session: JournaledSession) => unknown;
  /**
   * Looks again, every half of a lease, until `close` is called: for decisions and times that came, for sessions whose
   * process died, and for those that a journal which was away had suspended. A function is told of each pass that did
   * something, or failed. Default: false.
   */
  watch?: boolean | ((pass: ResumePass | { error: unknown }) => void);
};

/** What one look at a journal brought. */
export type ResumePass = {
  /** The sessions that go on. */
  sessions: Session[];
  refused: RefusedSession[];
  /** The ids of sessions that a process runs, or whose process died less than a lease ago. */
  running: string[];
  /** The ids of sessions that only wait, for people or for a later time. */
  waiting: string[];
};

const { signal: _, ...ofSessions } = commonOptions;
const optionsSchema = lazily(() =>
  z.strictObject({
    journal: aJournal,
    context: aFunction.optional(),
    watch: z.union([z.boolean(), aFunction], { error: 'true, false or a function' }).optional(),
    onDelivery: aFunction.optional(),
    renamedModels: modelRenames.optional(),
    ...ofSessions,
  } satisfies Record<keyof ResumeAllOptions, z.ZodType>),
);

/** A session that could not be resumed. It stays as it was. */
export type RefusedSession = { sessionId: string; error: unknown };

/**
 * Resumes the sessions of these agents that no process runs and that have something to do, for a process that starts: a
 * decision came, a time is over, or their process died in the middle of something. Those that only wait stay where they are,
 * and cost nothing (`waiting`). Sessions that another process takes meanwhile are its own. Resolves when all go on, or were
 * refused. Once `journal.leaseMs` is over, another call, or `watch`, resumes those in `running` whose process died. Rejects
 * with `invalid_options`, also for two agents with the same name.
 */
export async function resumeAll(
  agents: readonly Agent[],
  options: ResumeAllOptions,
): Promise<ResumePass & { close(): void }> {
  check(agentsSchema(), { agents }, '', 'invalid_options');
  check(optionsSchema(), options, 'options', 'invalid_options');
  const { watch = false, journal } = options;
  const look = looking(byName(agents), options);
  const first = await look();
  let stop = () => {};
  let isClosed = false;
  const tell = typeof watch === 'function' ? watch : () => {};
  const again = async () => {
    try {
      const pass = await look();
      if (!isClosed && pass.sessions.length + pass.refused.length > 0) tell(pass);
    } catch (error) {
      // The journal may come back.
      if (!isClosed) tell({ error });
    }
    next();
  };
  const next = () => {
    if (!isClosed) stop = systemClock.alarm(journal.leaseMs / 2, () => void again());
  };
  if (watch !== false) next();
  const close = () => {
    isClosed = true;
    stop();
  };
  return { ...first, close };
}

/** Returns what looks at a journal. What was refused, or waits, is looked at again once something is written to it. */
function looking(
  named: ReadonlyMap<string, Agent>,
  { watch: _watch, context: contextOf, ...given }: ResumeAllOptions,
): () => Promise<ResumePass> {
  const { journal, clock = systemClock } = given;
  const left = new Map<string, { updatedAt: number; dueAt: number }>();
  const refused = new Set<string>();
  return async () => {
    const listed = async (status: 'running' | 'suspended') =>
      (await journal.list({ status })).filter(({ agent }) => named.has(agent));
    const pass: ResumePass = { sessions: [], refused: [], running: [], waiting: [] };
    pass.running = (await listed('running')).map(({ sessionId }) => sessionId);
    for (const session of await listed('suspended')) {
      const { sessionId, updatedAt } = session;
      const agent = named.get(session.agent);
      if (agent === undefined) continue;
      if (eventLoop.isDue) await eventLoop.turn();
      const isLetter = (await journal.inbox(sessionId)).length > 0;
      const known = left.get(sessionId);
      const isSame = known?.updatedAt === updatedAt;
      const dueAt = isLetter ? 0 : isSame ? known.dueAt : await dueOf(agent, await journal.read(sessionId));
      if (dueAt > clock.now()) {
        left.set(sessionId, { updatedAt, dueAt });
        if (!refused.has(sessionId)) pass.waiting.push(sessionId);
        continue;
      }
      try {
        pass.sessions.push(await resumeSession(agent, { ...given, sessionId, context: contextOf?.(session) }));
        left.delete(sessionId);
        refused.delete(sessionId);
      } catch (error) {
        if (error instanceof PawlError && error.code === 'session_taken') continue;
        pass.refused.push({ sessionId, error });
        refused.add(sessionId);
        left.set(sessionId, { updatedAt, dueAt: Number.POSITIVE_INFINITY });
      }
    }
    return pass;
  };
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
