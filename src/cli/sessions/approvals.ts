import type { Json } from '../../../machines/index.ts';
import { counted, tame } from '../../platform/text.ts';
import { redact, redactJson } from '../../secrets/redact.ts';
import { approveSession } from '../../session/recovery/messages.ts';
import { type PendingApproval, pendingApprovals } from '../../session/replay/pending-approvals.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { sessionRow, withJournal } from './opened-journal.ts';

/** `pawl approvals`: lists the calls that wait for a person, the longest waiting first. */
export async function approvalsCommand(rest: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0) throw new UsageError(`pawl approvals takes no argument; got ${rest.join(' ')}.`);
  const pending = await withJournal(flags, (journal) => pendingApprovals(journal));
  const text = flags.json
    ? JSON.stringify(redactJson(pending as unknown as Json, []))
    : pending.length === 0
      ? 'No call waits for a person.'
      : pending.map(linesOf).join('\n');
  process.stdout.write(`${text}\n`);
  return exitCodes.succeeded;
}

/** `pawl approve`: decides a call, for whoever runs its session, now or later. */
export async function approveCommand(
  [id, call, ...rest]: readonly string[],
  { deny, reason, ...flags }: Flags,
): Promise<number> {
  if (id === undefined || call === undefined || rest.length > 0)
    throw new UsageError('Pass a session and a call: pawl approve ID CALL. pawl approvals lists them.');
  return withJournal(flags as Flags, async (journal) => {
    const { sessionId } = await sessionRow(journal, id);
    const meant = (await pendingApprovals(journal, { sessionId })).filter(({ callId }) => callId.startsWith(call));
    const [one, ...others] = meant.some(({ callId }) => callId === call)
      ? meant.filter(({ callId }) => callId === call)
      : meant;
    if (one === undefined)
      throw new UsageError(`No call ${call} of ${sessionId} waits for a person: pawl approvals lists them.`);
    if (others.length > 0)
      throw new UsageError(`${others.length + 1} calls of ${sessionId} begin with ${call}: pass more of the id.`);
    const decision = {
      approved: !deny,
      input: one.input,
      sessionId: one.madeBy,
      ...(reason !== undefined && { reason }),
    };
    if (!(await approveSession(journal, sessionId, one.callId, decision)))
      throw new UsageError(`The call ${one.callId} was decided meanwhile.`);
    const waits = deny ? 'Denied' : 'Approved';
    process.stdout.write(`${waits}: ${tame(one.tool)} of ${tame(sessionId)}. Whoever runs the session takes it in.\n`);
    return exitCodes.succeeded;
  });
}

function linesOf({ sessionId, agent, callId, tool, input, since }: PendingApproval): string {
  const minutes = Math.max(0, Math.floor((Date.now() - since) / 60_000));
  const age = minutes < 120 ? counted(minutes, 'minute') : counted(Math.floor(minutes / 60), 'hour');
  const shown = tame(redact(JSON.stringify(input))).replaceAll('\n', ' ');
  const [name, who, id] = [tool, agent, sessionId].map((text) => tame(text).replaceAll('\n', ' '));
  return `${id}  ${tame(callId)}  ${name} of ${who}, for ${age}\n  ${shown}`;
}
