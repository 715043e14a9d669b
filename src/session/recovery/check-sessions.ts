import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { eventLoop } from '../../host/event-loop.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { aJournal } from '../../journal/given.ts';
import {
  isEnded,
  type Journal,
  type JournalEntry,
  type JournaledSession,
  type SessionHead,
  type SessionStatus,
} from '../../journal/journal.ts';
import { lazily } from '../../platform/lazily.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';
import { modelRenames } from '../input.ts';
import { hasEnded, recordedHead } from '../replay/recorded-entries.ts';
import { Recording } from '../replay/recording.ts';
import { agentAsRecorded, type RenamedModels } from './recorded-agent.ts';
import { agentsSchema, byName } from './resume-all.ts';

export type CheckSessionsOptions = {
  journal: Journal;
  /** Also checks ended sessions, which need nothing of their agent. Default: false. */
  ended?: boolean;
  /** See `resumeSession`. */
  renamedModels?: RenamedModels;
};

/**
 * What would be otherwise for a recorded session under this code. `agent` and `decision` refuse it, and so does `journal`,
 * whose entries cannot be read. `request`: its next requests offer other tools than its last one did. `answer`: today, the
 * machines would say something in other words; what was said stays.
 */
export type SessionDifference = {
  kind: 'journal' | 'agent' | 'decision' | 'request' | 'answer';
  /** One sentence. */
  what: string;
};

export type CheckedSession = {
  sessionId: string;
  agent: string;
  status: SessionStatus;
  /** Whether it can be resumed, or read if it has ended. */
  isFit: boolean;
  differences: SessionDifference[];
};

const optionsSchema = lazily(() =>
  z.strictObject({
    journal: aJournal,
    ended: z.boolean().optional(),
    renamedModels: modelRenames.optional(),
  } satisfies Record<keyof CheckSessionsOptions, z.ZodType>),
);

/**
 * Plays the sessions of these agents on this code, before a deployment: those that have not ended, or all (D-6). Nothing is
 * written, and no session that runs is disturbed. Throws `invalid_options`.
 */
export async function checkSessions(
  agents: readonly Agent[],
  options: CheckSessionsOptions,
): Promise<CheckedSession[]> {
  check(agentsSchema(), { agents }, '', 'invalid_options');
  check(optionsSchema(), options, 'options', 'invalid_options');
  const { journal, ended = false, renamedModels = {} } = options;
  const named = byName(agents);
  const checked: CheckedSession[] = [];
  for (const row of await journal.list({})) {
    const agent = named.get(row.agent);
    if (agent === undefined || (isEnded(row.status) && !ended)) continue;
    if (eventLoop.isDue) await eventLoop.turn();
    checked.push(await checkedSession(agent, row, await journal.read(row.sessionId), renamedModels));
  }
  return checked;
}

async function checkedSession(
  agent: Agent,
  { sessionId, agent: name, status }: JournaledSession,
  entries: readonly JournalEntry[],
  renamed: RenamedModels,
): Promise<CheckedSession> {
  const differences: SessionDifference[] = [];
  const isOver = hasEnded(entries);
  try {
    const head = recordedHead(entries, sessionId);
    const resuming = isOver ? null : agentFor(agent, head, renamed, differences);
    const recording = new Recording([]);
    await recording.playInTurns(entries);
    const { difference, reworded, requests } = recording;
    if (difference !== null) {
      const { entry, recorded, replayed } = difference;
      const what = `Entry ${entry}: "${recorded}" was decided, and would be "${replayed}".`;
      differences.push({ kind: 'decision', what });
    }
    const offered = requests.flatMap((one) => (one.sessionId === sessionId ? one.tools : []));
    if (resuming !== null) differences.push(...(await offerDifferences(resuming, head, offered)));
    for (const { entry, recorded, replayed } of reworded) {
      const what = `Entry ${entry}: ${JSON.stringify(recorded)} would be stated as ${JSON.stringify(replayed)}.`;
      differences.push({ kind: 'answer', what });
    }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    differences.push(...error.problems.map((what): SessionDifference => ({ kind: 'journal', what })));
  }
  const isRefused = ({ kind }: SessionDifference) =>
    kind === 'journal' || (!isOver && (kind === 'agent' || kind === 'decision'));
  return { sessionId, agent: name, status, isFit: !differences.some(isRefused), differences };
}

/** Returns the agent as it would resume the session; null, with the differences, if it cannot. */
function agentFor(
  agent: Agent,
  head: SessionHead,
  renamed: RenamedModels,
  differences: SessionDifference[],
): Agent | null {
  try {
    return agentAsRecorded(agent, head, renamed);
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'agent_changed') throw error;
    differences.push(...error.problems.map((what): SessionDifference => ({ kind: 'agent', what })));
    return null;
  }
}

/**
 * The tools of the agent that the session did not have, or that its requests offered in another form: such a tool breaks the
 * cached prefix once.
 */
async function offerDifferences(
  { tools }: Agent,
  head: SessionHead,
  offered: readonly OfferedTool[],
): Promise<SessionDifference[]> {
  const last = new Map(offered.map((tool) => [tool.name, JSON.stringify(tool)]));
  const found: SessionDifference[] = [];
  for (const [name, tool] of tools) {
    const was = last.get(name);
    const is = JSON.stringify(await tool.offered);
    if (!head.tools.includes(name)) found.push({ kind: 'request', what: `The tool ${name} is new.` });
    else if (was !== undefined && was !== is)
      found.push({ kind: 'request', what: `The tool ${name} is offered as ${is}; it was ${was}.` });
  }
  return found;
}
