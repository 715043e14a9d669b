import { z } from 'zod';
import type { Counters } from '../../../machines/index.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { checkJournal } from '../../journal/given.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import { inOrder } from '../../platform/plain-json.ts';
import { replaySession } from '../../session/replay/replay-session.ts';
import type { ReplayedSession } from '../../session/replay/replayed.ts';
import type { SessionResult } from '../../session/session.ts';
import { brokenPromises } from '../invariants.ts';
import { countersFrom } from './recount.ts';

export type VerifyOptions = {
  /** Only this session. Default: all of the journal. */
  sessionId?: string;
};

/** A session of a journal, and what does not hold of it; `broken` is empty if everything does. */
export type VerifiedSession = Pick<JournaledSession, 'sessionId' | 'agent' | 'status'> & { broken: string[] };

const optionsSchema = z.strictObject({
  sessionId: z.string().optional(),
} satisfies Record<keyof VerifyOptions, z.ZodType>);

/**
 * Checks recorded sessions, one after the other, against what is promised of every session: these machines take the
 * recorded way (D-6), the promises of `brokenPromises`, all counters counted again from the events (S-4), and the bound
 * (B-1). Workflow runs are left out. Throws `invalid_options`.
 */
export async function* verifySessions(journal: Journal, options: VerifyOptions = {}): AsyncGenerator<VerifiedSession> {
  checkJournal(journal);
  const { sessionId } = check(optionsSchema, options, 'options', 'invalid_options');
  for (const row of await journal.list(sessionId === undefined ? {} : { sessionId })) {
    if (row.metadata.role === 'run') continue;
    yield { sessionId: row.sessionId, agent: row.agent, status: row.status, broken: await brokenIn(journal, row) };
  }
}

async function brokenIn(journal: Journal, row: JournaledSession): Promise<string[]> {
  const [first] = await journal.read(row.sessionId);
  try {
    const replayed = await replaySession(journal, row.sessionId);
    const { difference } = replayed;
    if (difference !== null)
      return [`entry ${difference.entry} is "${difference.recorded}", and these machines say "${difference.replayed}"`];
    const result = resultIn(replayed, row);
    const limits = first?.type === 'started' ? { limits: first.head.input.bound } : {};
    return [...brokenPromises(result, limits), ...miscounted(result.counters, countersFrom(result, replayed.events))];
  } catch (error) {
    // An entry that cannot be read, or that other machines wrote, is a finding about this session.
    if (error instanceof PawlError) return [error.message];
    throw error;
  }
}

/** A session as its result would be. What has not ended is as one that was suspended. */
function resultIn({ events, counters, conversation, turns }: ReplayedSession, row: JournaledSession): SessionResult {
  const own = events.filter(({ path }) => path.length === 0);
  const accepted = own.findLast(({ type }) => type === 'report.accepted');
  const success = row.status === 'succeeded';
  const hasEnded = success || row.status === 'failed' || row.status === 'aborted';
  const ended = own.findLast((event) => event.type === 'session.failed' || event.type === 'session.aborted');
  const result = {
    ...{ sessionId: row.sessionId, agent: row.agent, metadata: row.metadata, counters, turns },
    conversation: [...conversation],
    ...{ success, status: hasEnded ? row.status : 'suspended', handedTo: null, slices: {} },
    slugs: hasEnded ? row.slugs : ['suspended'],
    report: {
      accepted: accepted !== undefined,
      content: accepted?.type === 'report.accepted' ? accepted.content : 'none',
    },
    ...(ended !== undefined && 'failure' in ended && { failure: ended.failure }),
  };
  return result as unknown as SessionResult;
}

/** The counters that are not what the events add up to. */
function miscounted(counters: Counters, again: Counters): string[] {
  return (Object.keys(again) as (keyof Counters)[]).flatMap((name) => {
    const [kept, counted] = [counters[name], again[name]].map((value) => JSON.stringify(value, inOrder));
    return kept === counted ? [] : [`counters.${name} (${kept}) = what the events add up to (${counted})`];
  });
}
