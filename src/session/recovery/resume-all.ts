import { z } from 'zod';
import { type Agent, anAgent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { aFunction } from '../../input/shapes.ts';
import { aJournal } from '../../journal/given.ts';
import { lazily } from '../../platform/lazily.ts';
import { commonOptions, sharedOptions } from '../common-options.ts';
import { modelRenames } from '../input.ts';
import { Looking, type ResumeAllOptions, type ResumePass } from './looking.ts';

export const agentsSchema = lazily(() => z.object({ agents: z.array(anAgent, { error: 'an array of agents' }) }));

const { signal: _, ...ofSessions } = commonOptions;
const optionsSchema = lazily(() =>
  z.strictObject({
    journal: aJournal,
    ...sharedOptions,
    context: aFunction.optional(),
    watch: z.union([z.boolean(), aFunction], { error: 'true, false or a function' }).optional(),
    onDelivery: aFunction.optional(),
    renamedModels: modelRenames.optional(),
    ...ofSessions,
  } satisfies Record<keyof ResumeAllOptions, z.ZodType>),
);

/**
 * Resumes the sessions of these agents that no process runs and that have something to do, for a process that starts: a
 * decision came, a time is over, or their process died in the middle of something. Those that only wait stay where they are,
 * and cost nothing (`waiting`). Sessions that another process takes meanwhile are its own. Resolves when each was resumed or
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
  const looking = new Looking(byName(agents), options);
  const first = await looking.look();
  let stop = () => {};
  let isClosed = false;
  const tell = typeof watch === 'function' ? watch : () => {};
  const again = async () => {
    try {
      const pass = await looking.look();
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
