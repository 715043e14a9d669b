import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { sleep, systemClock } from '../../host/clock.ts';
import { check } from '../../input/check.ts';
import { messageOf } from '../../input/errors.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import { redact, redactJson, redactReason } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { approveSession } from '../../session/recovery/messages.ts';
import { type PendingApproval, pendingApprovals } from '../../session/replay/pending-approvals.ts';
import { Previews, type RootedApproval } from './previews.ts';

/** A call that waits for a person, as the page shows it: without secrets. */
export type InboxCall = PendingApproval & {
  /** The beginning of what its session was asked; empty if that is not known yet. */
  prompt: string;
  /** Stands for the input and the preview that are shown: a decision about others does not count (S-8e). */
  shown: string;
  /** What the call would do, in the words of its tool; null if nothing says so, or not yet. */
  preview: string | null;
  /** Whether its tool has not said yet what it would do. */
  isPreviewDue: boolean;
};

/** `unreadable`: the sessions whose calls cannot be shown, and why. */
export type InboxList = { calls: InboxCall[]; unreadable: { sessionId: string; reason: string }[] };

const decisionSchema = z.strictObject({
  sessionId: z.string(),
  madeBy: z.string(),
  callId: z.string(),
  shown: z.string(),
  approved: z.boolean(),
  reason: z.string().optional(),
});

/** How long a list waits for what tools say that calls would do, in ms. */
const patienceMs = 300;

/** The calls of sessions that wait for a person. */
export class Inbox {
  private readonly journal: Journal;
  private readonly secrets: () => readonly string[];
  private readonly promptOf: (sessionId: string) => string;
  private readonly previews: Previews;
  /** No hash without a key leaves the process: a short input could be guessed from it. */
  private readonly key = randomBytes(32);
  /** The calls that have been read, by their session, with its number of entries. */
  private known = new Map<string, { entries: number; calls: readonly RootedApproval[] }>();

  constructor(
    journal: Journal,
    agents: readonly Agent[],
    secrets: () => readonly string[],
    promptOf: (sessionId: string) => string,
  ) {
    this.journal = journal;
    this.secrets = secrets;
    this.promptOf = promptOf;
    this.previews = new Previews(agents);
  }

  /** The longest waiting first; only those of one session, if one is given. */
  async list(sessionId: string | null): Promise<InboxList> {
    const rows = await this.journal.list(sessionId === null ? {} : { sessionId });
    const waiting = rows.filter(({ waitingCalls }) => waitingCalls.some(({ awaits }) => awaits === 'approval'));
    const unreadable: InboxList['unreadable'] = [];
    const secrets = writtenSecrets(this.secrets());
    const found = waiting.map(async (row) => {
      try {
        return await this.callsOf(row);
      } catch (error) {
        unreadable.push({ sessionId: row.sessionId, reason: redactReason(messageOf(error), secrets) });
        return [];
      }
    });
    const calls = (await Promise.all(found)).flat().toSorted((one, other) => one.since - other.since);
    const there = new Set(rows.map((row) => row.sessionId));
    if (sessionId === null) for (const id of this.known.keys()) if (!there.has(id)) this.known.delete(id);
    for (const call of calls) this.previews.look(call);
    const enough = new AbortController();
    await Promise.race([this.previews.settled(), sleep(systemClock, patienceMs, enough.signal)]);
    enough.abort();
    return { calls: calls.map((call) => this.clean(call, secrets)), unreadable };
  }

  /** Decides a call; false if it does not wait, or is to be approved and is not as it was shown. */
  async decide(given: unknown): Promise<boolean> {
    const { sessionId, madeBy, callId, shown, ...decision } = check(decisionSchema, given, '', 'invalid_options');
    const [row] = await this.journal.list({ sessionId });
    const pending = row === undefined ? [] : await this.callsOf(row);
    const call = pending.find((one) => one.callId === callId && one.madeBy === madeBy);
    if (call === undefined) return false;
    if (decision.approved && !(await this.isAsShown(call, shown))) return false;
    return approveSession(this.journal, sessionId, callId, {
      ...{ approved: decision.approved, input: call.input, sessionId: madeBy },
      ...(decision.reason !== undefined && { reason: decision.reason }),
    });
  }

  /** Whether a call is as it was shown: its input, and what it would do, if that was awaited and stays the same at all. */
  private async isAsShown(call: RootedApproval, shown: string): Promise<boolean> {
    if (shown === this.seal(call, null)) return true;
    const latest = this.previews.latest(call);
    const [now, again] = [await this.previews.now(call), await this.previews.now(call)];
    this.previews.note(call, again);
    if (now !== again) return latest !== null && shown === this.seal(call, latest);
    return shown === this.seal(call, { text: now });
  }

  close(): void {
    this.previews.close();
  }

  private async callsOf({
    sessionId,
    agent: root,
    entries,
    waitingCalls,
  }: JournaledSession): Promise<RootedApproval[]> {
    const known = this.known.get(sessionId);
    const read = async () => (await pendingApprovals(this.journal, { sessionId })).map((call) => ({ ...call, root }));
    const calls = known?.entries === entries ? known.calls : await read();
    this.known.set(sessionId, { entries, calls });
    // A decision that was posted is no entry yet.
    return calls.filter(({ callId, madeBy }) =>
      waitingCalls.some((one) => one.callId === callId && one.sessionId === madeBy && one.awaits === 'approval'),
    );
  }

  private clean({ root, ...call }: RootedApproval, secrets: readonly string[]): InboxCall {
    const { agent, metadata, input, sessionId } = call;
    const preview = this.previews.latest({ ...call, root });
    return {
      ...call,
      agent: redact(agent, secrets),
      metadata: redactJson({ ...metadata }, secrets) as InboxCall['metadata'],
      prompt: this.promptOf(sessionId),
      input: redactJson(input, secrets) as InboxCall['input'],
      shown: this.seal(call, preview),
      preview: preview?.text == null ? null : redact(preview.text, secrets),
      isPreviewDue: preview === null,
    };
  }

  private seal({ sessionId, madeBy, callId, input }: PendingApproval, preview: { text: string | null } | null): string {
    const seen = JSON.stringify([sessionId, madeBy, callId, input, preview]);
    return createHmac('sha256', this.key).update(seen).digest('hex');
  }
}
