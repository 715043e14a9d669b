import { z } from 'zod';
import type { JsonObject } from '../../../machines/index.ts';
import { check } from '../../input/check.ts';
import { texts } from '../../input/shapes.ts';
import { checkJournal } from '../../journal/given.ts';
import type { Journal } from '../../journal/journal.ts';
import { lazily } from '../../platform/lazily.ts';
import { type Metadata, metadataShape } from '../../vocabulary/metadata.ts';
import { readSession } from './replay-session.ts';

export type PendingApprovalsOptions = {
  /** Only of sessions whose metadata has these values. */
  metadata?: Metadata;
  /** Only of this session. */
  sessionId?: string;
  /** Texts that no input may show, such as the agent's secrets (S-5). */
  secrets?: readonly string[];
};

/** A call that waits for a person, for an inbox over all sessions. */
export type PendingApproval = {
  /** The session that `approveSession` is given. */
  sessionId: string;
  metadata: Metadata;
  /** The agent that made the call: that of the session, or a sub-agent in the session `madeBy` of the tree. */
  agent: string;
  madeBy: string;
  /** The tool names that lead from the session's agent to the sub-agent; empty for the session itself. */
  path: readonly string[];
  callId: string;
  tool: string;
  input: JsonObject;
  /** Since when it waits (epoch ms). */
  since: number;
};

const optionsSchema = lazily(() =>
  z.strictObject({
    metadata: metadataShape.optional(),
    sessionId: z.string().optional(),
    secrets: texts.optional(),
  } satisfies Record<keyof PendingApprovalsOptions, z.ZodType>),
);

/**
 * Returns the calls of a journal that wait for a person's decision, the longest waiting first. `approveSession(journal,
 * sessionId, callId, { approved, input, sessionId: madeBy })` decides one. Throws `invalid_options`.
 */
export async function pendingApprovals(
  journal: Journal,
  options: PendingApprovalsOptions = {},
): Promise<PendingApproval[]> {
  checkJournal(journal);
  const { metadata, sessionId, secrets = [] } = check(optionsSchema(), options, 'options', 'invalid_options');
  const pending: PendingApproval[] = [];
  const query = { ...(metadata !== undefined && { metadata }), ...(sessionId !== undefined && { sessionId }) };
  for (const row of await journal.list(query)) {
    const waiting = row.waitingCalls.filter(({ awaits }) => awaits === 'approval');
    if (waiting.length === 0) continue;
    const { events } = await readSession(journal, row.sessionId, { secrets });
    for (const { callId, sessionId: madeBy } of waiting) {
      const asked = events.findLast(
        (event) => event.type === 'tool.approvalRequested' && event.callId === callId && event.sessionId === madeBy,
      );
      if (asked?.type !== 'tool.approvalRequested') continue;
      const { agent, path, name: tool, input, at: since } = asked;
      const { sessionId: own, metadata: given } = row;
      pending.push({ sessionId: own, metadata: given, agent, madeBy, path, callId, tool, input, since });
    }
  }
  return pending.toSorted((one, other) => one.since - other.since);
}
