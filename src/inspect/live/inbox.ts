import { createHash } from 'node:crypto';
import { z } from 'zod';
import { callPreview } from '../../agent/call-preview.ts';
import type { Agent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import type { Journal } from '../../journal/journal.ts';
import { redact, redactJson } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { approveSession } from '../../session/recovery/messages.ts';
import { type PendingApproval, pendingApprovals } from '../../session/replay/pending-approvals.ts';

/** A call that waits for a person, as the page shows it: without secrets. */
export type InboxCall = PendingApproval & {
  /** Stands for the input that is shown: a decision about another does not count (D-7b). */
  shown: string;
  /** What the call would do, in the words of its tool; null if the tool, or the agent, is not known here. */
  preview: string | null;
};

const decisionSchema = z.strictObject({
  sessionId: z.string(),
  madeBy: z.string(),
  callId: z.string(),
  shown: z.string(),
  approved: z.boolean(),
  reason: z.string().optional(),
});

/** The calls of all sessions that wait for a person. */
export class Inbox {
  private readonly journal: Journal;
  private readonly agents: readonly Agent[];
  private readonly secrets: () => readonly string[];
  /** The calls that have been read, by their session, with its number of entries. */
  private known = new Map<string, { entries: number; calls: InboxCall[] }>();

  constructor(journal: Journal, agents: readonly Agent[], secrets: () => readonly string[]) {
    this.journal = journal;
    this.agents = agents;
    this.secrets = secrets;
  }

  /** The longest waiting first. */
  async list(): Promise<InboxCall[]> {
    const rows = (await this.journal.list({})).filter(({ waiting }) => waiting.length > 0);
    const found = rows.map(async ({ sessionId, agent, entries, waiting }) => {
      const known = this.known.get(sessionId);
      const calls = known?.entries === entries ? known.calls : await this.callsOf(sessionId, agent);
      // A decision that was posted is no entry yet.
      return { sessionId, entries, calls, waiting: calls.filter(({ callId }) => waiting.includes(callId)) };
    });
    const all = await Promise.all(found);
    this.known = new Map(all.map(({ sessionId, entries, calls }) => [sessionId, { entries, calls }]));
    return all.flatMap(({ waiting }) => waiting).toSorted((one, other) => one.since - other.since);
  }

  /** Decides a call; false if it does not wait, or its input is not the one that was shown. */
  async decide(given: unknown): Promise<boolean> {
    const { sessionId, madeBy, callId, shown, ...decision } = check(decisionSchema, given, '', 'invalid_options');
    const pending = await pendingApprovals(this.journal, { sessionId });
    const call = pending.find((one) => one.callId === callId && one.madeBy === madeBy);
    if (call === undefined || hashOf(call.input) !== shown) return false;
    return approveSession(this.journal, sessionId, callId, {
      ...{ approved: decision.approved, input: call.input, sessionId: madeBy },
      ...(decision.reason !== undefined && { reason: decision.reason }),
    });
  }

  private async callsOf(sessionId: string, agentName: string): Promise<InboxCall[]> {
    const agent = this.agents.find(({ name }) => name === agentName);
    const secrets = writtenSecrets(this.secrets());
    const pending = await pendingApprovals(this.journal, { sessionId });
    return Promise.all(
      pending.map(async (call) => {
        const { path, tool: name, input, metadata } = call;
        const preview =
          agent === undefined ? null : await callPreview(agent, { path, name, input }, new AbortController().signal);
        return {
          ...call,
          agent: redact(call.agent, secrets),
          metadata: redactJson({ ...metadata }, secrets) as InboxCall['metadata'],
          input: redactJson(input, secrets) as InboxCall['input'],
          shown: hashOf(input),
          preview: preview === null ? null : redact(preview, secrets),
        };
      }),
    );
  }
}

function hashOf(input: unknown): string {
  return createHash('sha256').update(JSON.stringify(input)).digest('hex');
}
